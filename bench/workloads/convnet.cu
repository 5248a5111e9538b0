// Trains a small convolutional network on synthetic images: batch normalisation with running statistics that
// change in place, ReLU in place, pooling, weight gradients on a second stream, everything allocated once. A
// plain CUDA program: it must not know what it runs on.
#include <cmath>
#include <memory>

#include "convolution.cuh"
#include "elementwise.cuh"
#include "linear.cuh"
#include "tokens.cuh"

namespace {

struct Options {
  int blocks = 2, channels = 8, batch = 8, side = 16, colours = 4, classes = 8, steps = 10, seed = 1;
};

struct Parameter {
  Tensor value, gradient, momentum;
  explicit Parameter(size_t count)
      : value(count, Kind::kParameter), gradient(count, Kind::kGradient), momentum(count, Kind::kOptimizer) {}
  void start(const std::vector<float>& values) {
    value.from_host(values);
    check(cudaMemset(momentum.data(), 0, momentum.bytes()), "cudaMemset");
  }
  void update() {
    const int count = int(value.count());
    LAUNCH(momentum_sgd, count, value, momentum, gradient, 0.02f, count);
  }
};

struct Block {
  Shape in, out;  // out: before pooling
  Parameter weights, gain, offset;
  Tensor running_mean, running_variance;                      // state, as a framework keeps it
  Tensor mean, inverse_deviation, convolved, active, pooled;  // forward
  Tensor choice, d_active, d_convolved, d_in;

  Block(const Options& o, Shape input, Random& random)
      : in(input),
        out{input.images, o.channels, input.side},
        weights(size_t(o.channels) * input.channels * 9),
        gain(o.channels),
        offset(o.channels),
        running_mean(o.channels, Kind::kOptimizer),
        running_variance(o.channels, Kind::kOptimizer),
        mean(o.channels),
        inverse_deviation(o.channels),
        convolved(out.count()),
        active(out.count()),
        pooled(out.count() / 4),
        choice(out.count() / 4),
        d_active(out.count()),
        d_convolved(out.count()),
        d_in(in.count()) {
    std::vector<float> start(weights.value.count());
    for (float& number : start) number = random.about_normal() * std::sqrt(2.0f / float(9 * in.channels));
    weights.start(start);
    gain.start(std::vector<float>(o.channels, 1.0f));
    offset.start(std::vector<float>(o.channels, 0.0f));
    running_mean.from_host(std::vector<float>(o.channels, 0.0f));
    running_variance.from_host(std::vector<float>(o.channels, 1.0f));
  }
  int* choices() const { return reinterpret_cast<int*>(choice.data()); }
};

class ConvNet {
 public:
  explicit ConvNet(const Options& options)
      : o_(options),
        random_{uint64_t(o_.seed)},
        images_(size_t(o_.batch) * o_.colours * o_.side * o_.side),
        labels_(o_.batch),
        losses_(o_.batch),
        log_sums_(o_.batch),
        loss_(1),
        scores_(size_t(o_.batch) * o_.classes),
        d_scores_(scores_.count()),
        host_images_(images_.count()),
        host_labels_(o_.batch) {
    Shape shape{o_.batch, o_.colours, o_.side};
    for (int block = 0; block < o_.blocks; ++block) {
      blocks_.emplace_back(o_, shape, random_);
      shape = {o_.batch, o_.channels, shape.side / 2};
    }
    features_ = shape.count() / o_.batch;
    head_ = std::make_unique<Parameter>(size_t(features_) * o_.classes);
    bias_ = std::make_unique<Parameter>(o_.classes);
    std::vector<float> start(head_->value.count());
    for (float& number : start) number = random_.about_normal() * std::sqrt(1.0f / float(features_));
    head_->start(start);
    bias_->start(std::vector<float>(o_.classes, 0.0f));
    d_features_ = Tensor(size_t(o_.batch) * features_);
    check(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "cudaEventCreate");
  }

  float train(int step) {
    load(step);
    forward();
    backward();
    for (Block& block : blocks_) {
      block.weights.update();
      block.gain.update();
      block.offset.update();
    }
    head_->update();
    bias_->update();
    return loss_.to_host()[0];
  }

  uint64_t digest() const {
    uint64_t out = kFnvStart;
    const auto add_tensor = [&](const Tensor& tensor) {
      const std::vector<float> values = tensor.to_host();
      out = fnv1a(out, values.data(), tensor.bytes());
    };
    for (const Block& block : blocks_) {
      for (const Parameter* p : {&block.weights, &block.gain, &block.offset}) add_tensor(p->value);
      add_tensor(block.running_mean);
      add_tensor(block.running_variance);
    }
    add_tensor(head_->value);
    add_tensor(bias_->value);
    return out;
  }

 private:
  const int* labels() const { return reinterpret_cast<const int*>(labels_.data()); }
  const Tensor& input(size_t index) const { return index == 0 ? images_ : blocks_[index - 1].pooled; }

  // Each class is a wave of its own across the image, under noise.
  void load(int step) {
    Random random{uint64_t(o_.seed) * 104729 + uint64_t(step)};
    for (int image = 0; image < o_.batch; ++image) {
      host_labels_[image] = int(random.next() % uint64_t(o_.classes));
      for (int at = 0; at < o_.colours * o_.side * o_.side; ++at) {
        const float wave = std::sin(float(at % o_.side) * float(host_labels_[image] + 1) * 0.4f);
        host_images_[size_t(image) * o_.colours * o_.side * o_.side + at] =
            wave + 0.5f * random.about_normal();
      }
    }
    images_.from_host(host_images_);
    check(cudaMemcpy(labels_.data(), host_labels_.data(), host_labels_.size() * sizeof(int),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy of labels");
  }

  void forward() {
    for (size_t index = 0; index < blocks_.size(); ++index) {
      Block& b = blocks_[index];
      const int count = b.out.count();
      LAUNCH(convolve, count, b.convolved, input(index), b.weights.value, b.in, o_.channels);
      LAUNCH(batch_statistics, o_.channels, b.mean, b.inverse_deviation, b.running_mean, b.running_variance,
             b.convolved, b.out);
      LAUNCH(batch_norm, count, b.active, b.convolved, b.mean, b.inverse_deviation, b.gain.value,
             b.offset.value, b.out);
      LAUNCH(relu_in_place, count, b.active, count);
      LAUNCH(max_pool, count / 4, b.pooled, b.choices(), b.active, b.out);
    }
    LAUNCH(linear_forward, scores_.count() / 4, scores_, blocks_.back().pooled, head_->value, bias_->value,
           o_.batch, features_, o_.classes);
    LAUNCH(cross_entropy, o_.batch, losses_, log_sums_, scores_, labels(), o_.batch, o_.classes);
    mean_of<<<1, 1>>>(loss_, losses_, o_.batch);
    check_launch("mean_of");
  }

  void backward() {
    const int scores = int(scores_.count());
    LAUNCH(cross_entropy_backward, scores, d_scores_, scores_, log_sums_, labels(), o_.batch, o_.classes);
    LAUNCH(linear_backward_w, head_->value.count() / 4, head_->gradient, blocks_.back().pooled, d_scores_,
           o_.batch, features_, o_.classes);
    LAUNCH(sum_rows, o_.classes, bias_->gradient, d_scores_, o_.batch, o_.classes);
    LAUNCH(linear_backward_x, d_features_.count() / 4, d_features_, d_scores_, head_->value, o_.batch,
           features_, o_.classes);
    const float* arriving = d_features_;
    for (size_t index = blocks_.size(); index-- > 0;) {
      Block& b = blocks_[index];
      const int count = b.out.count();
      LAUNCH(max_pool_backward, count, b.d_active, arriving, b.choices(), b.out);
      LAUNCH(relu_in_place_backward, count, b.d_active, b.active, count);
      LAUNCH(batch_norm_sums, o_.channels, b.gain.gradient, b.offset.gradient, b.d_active, b.convolved,
             b.mean, b.inverse_deviation, b.out);
      LAUNCH(batch_norm_backward, count, b.d_convolved, b.d_active, b.convolved, b.mean, b.inverse_deviation,
             b.gain.value, b.gain.gradient, b.offset.gradient, b.out);
      // The weights' gradient beside the input's.
      check(cudaEventRecord(ready_, nullptr), "cudaEventRecord");
      check(cudaStreamWaitEvent(side_, ready_, 0), "cudaStreamWaitEvent");
      convolve_backward_w<<<blocks_for(b.weights.value.count()), kBlock, 0, side_>>>(
          b.weights.gradient, input(index), b.d_convolved, b.in, o_.channels);
      check_launch("convolve_backward_w");
      if (index > 0)
        LAUNCH(convolve_backward_x, b.in.count(), b.d_in, b.d_convolved, b.weights.value, b.in, o_.channels);
      arriving = b.d_in;
    }
    check(cudaEventRecord(done_, side_), "cudaEventRecord");
    check(cudaStreamWaitEvent(nullptr, done_, 0), "cudaStreamWaitEvent");
  }

  Options o_;
  Random random_;
  std::vector<Block> blocks_;
  Tensor images_, labels_, losses_, log_sums_, loss_, scores_, d_scores_, d_features_;
  std::unique_ptr<Parameter> head_, bias_;
  int features_ = 0;
  cudaStream_t side_ = nullptr;
  cudaEvent_t ready_ = nullptr, done_ = nullptr;
  std::vector<float> host_images_;
  std::vector<int> host_labels_;
};

}  // namespace

int main(int count, char** arguments) {
  Options o;
  parse_flags(count, arguments,
              {{"--blocks", &o.blocks, nullptr, nullptr, 1},
               {"--channels", &o.channels, nullptr, nullptr, 4},
               {"--batch", &o.batch, nullptr, nullptr, 1},
               {"--side", &o.side, nullptr, nullptr, 2},
               {"--colours", &o.colours, nullptr, nullptr, 1},
               {"--classes", &o.classes, nullptr, nullptr, 4},
               {"--steps", &o.steps, nullptr, nullptr, 1},
               {"--seed", &o.seed, nullptr, nullptr, 0}});
  if (o.channels % 4 != 0 || o.classes % 4 != 0) bad_flag("--channels and --classes must be multiples of 4");
  if (o.side % (1 << o.blocks) != 0) bad_flag("--side must be divisible by 2 once for each block");
  ConvNet model(o);
  for (int step = 0; step < o.steps; ++step) print_step(step, model.train(step));
  account().print();
  std::printf("weights and running statistics digest %016llx\n",
              static_cast<unsigned long long>(model.digest()));
  return 0;
}
