// A small training program: every step makes activations, reads them again backward, and changes the weights
// in place.
#pragma once

#include <vector>

#include "program.hpp"

namespace refrain::guide::test {

using engine::BufferId;
using engine::Bytes;
using engine::test::Program;

class Trainer {
 public:
  Trainer(Program& program, int layers) : p_(program) {
    for (int i = 0; i < layers; ++i) {
      weights_.push_back(p_.allocate(1));
      p_.upload(weights_.back());
    }
  }

  void step() {
    forward(static_cast<int>(weights_.size()));
    backward();
  }
  // Without gradients.
  void validate() {
    forward(static_cast<int>(weights_.size()) / 2);
    while (!activations_.empty()) release(activations_);
  }
  // A step of other ops than the one before.
  void odd_step(int layers) {
    forward(layers);
    backward();
  }
  // All that can still be read is what it should be.
  void check() {
    for (const BufferId weight : weights_) engine::test::must(p_.download(weight), "a weight cannot be read");
  }

 private:
  void forward(int layers) {
    activations_.push_back(p_.allocate(1));
    p_.upload(activations_.back());
    for (int i = 0; i < layers; ++i) {
      // A large value that is cheap, and a small one that is not.
      const BufferId wide = p_.allocate(2);
      run({Program::in(activations_.back()), Program::in(weights_[i]), Program::whole(wide)}, 1);
      activations_.push_back(wide);
      const BufferId narrow = p_.allocate(1);
      run({Program::in(wide), Program::whole(narrow)}, 5);
      activations_.push_back(narrow);
    }
  }

  void backward() {
    BufferId gradient = p_.allocate(1);
    run({Program::in(activations_.back()), Program::whole(gradient)}, 0);
    for (std::size_t i = activations_.size() / 2; i-- > 0;) {
      const BufferId next = p_.allocate(1);
      run({Program::in(gradient), Program::in(activations_.back()), Program::in(activations_[2 * i + 1]),
           Program::in(weights_[i]), Program::whole(next)},
          6);
      release(activations_);
      release(activations_);
      run({Program::in(next), Program::in(activations_.back()), Program::inout(weights_[i])}, 2);
      p_.free(gradient);
      gradient = next;
    }
    p_.free(gradient);
    release(activations_);
  }

  void run(std::initializer_list<Program::Use> uses, std::uint32_t cost_class) {
    engine::test::must(p_.op(uses, true, cost_class) == engine::Status::kOk, "an op cannot be had");
  }
  void release(std::vector<BufferId>& buffers) {
    p_.free(buffers.back());
    buffers.pop_back();
  }

  Program& p_;
  std::vector<BufferId> weights_;
  std::vector<BufferId> activations_;
};

}  // namespace refrain::guide::test
