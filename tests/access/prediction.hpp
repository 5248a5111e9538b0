// What the analysis says of one launch before it runs, in addresses. The only place here that knows the
// analysis: everything else compares with the truth.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "access/footprint.hpp"
#include "ranges.hpp"

namespace refrain::access::test {

struct Prediction {
  // For each address among the parameters: may-facts, but for must_write.
  struct Pointer {
    std::uint32_t offset = 0;  // in the parameter bytes
    std::uint64_t address = 0;
    Ranges reads, writes, must_write;
    bool reads_anywhere = false;  // in the whole allocation that address points into
    bool writes_anywhere = false;
  };
  bool barrier = false;  // could touch anything
  std::vector<Pointer> pointers;
};

// The code of one module: one PTX text, or several to be linked. Throws ptx::Error.
class Predictor {
 public:
  explicit Predictor(std::span<const std::string> ptx_texts);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // Throws std::out_of_range if the module has no such kernel.
  Prediction predict(const std::string& kernel, const LaunchArguments& arguments);

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace refrain::access::test
