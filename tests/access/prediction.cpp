// By the facts of src/access: whole allocations, nothing that is certainly written.
#include "prediction.hpp"

#include <cstring>
#include <map>
#include <stdexcept>

#include "access/access.hpp"
#include "ptx/ast.hpp"
#include "ptx/link.hpp"

namespace refrain::access::test {

struct Predictor::Code {
  ptx::Module module;
  std::map<std::string, KernelAccess> kernels;  // that were asked for
};

Predictor::Predictor(std::span<const std::string> ptx_texts) : code_(std::make_unique<Code>()) {
  std::vector<ptx::Module> parts;
  for (const std::string& text : ptx_texts) parts.push_back(ptx::parse(text));
  code_->module = ptx::link(std::move(parts));
}

Predictor::~Predictor() = default;

Prediction Predictor::predict(const std::string& kernel, const LaunchArguments& arguments) {
  auto found = code_->kernels.find(kernel);
  if (found == code_->kernels.end()) {
    const ptx::Function* function = code_->module.find_function(kernel);
    if (function == nullptr) throw std::out_of_range("no kernel " + kernel);
    found = code_->kernels.emplace(kernel, analyse(code_->module, *function)).first;
  }
  Prediction out;
  out.barrier = !found->second.bounded();
  for (const PointerAccess& access : found->second.pointers) {
    Prediction::Pointer pointer;
    pointer.offset = access.offset_bytes;
    if (pointer.offset + sizeof pointer.address > arguments.params.size()) continue;
    std::memcpy(&pointer.address, arguments.params.data() + pointer.offset, sizeof pointer.address);
    pointer.reads_anywhere = access.read;
    pointer.writes_anywhere = access.written;
    out.pointers.push_back(pointer);
  }
  return out;
}

}  // namespace refrain::access::test
