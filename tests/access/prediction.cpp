// By the facts of src/access, as the preload library takes them: the kernel's roles and the launch's
// footprint.
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
  struct Kernel {
    KernelAccess access;
    Footprints footprints;
  };
  std::map<std::string, Kernel> kernels;  // that were asked for

  Kernel make(const ptx::Function& function) const {
    KernelAccess access = analyse(module, function);
    std::vector<std::uint32_t> offsets;
    for (const PointerAccess& pointer : access.pointers) offsets.push_back(pointer.offset_bytes);
    return {std::move(access), Footprints(slice_of(module, function, offsets), offsets)};
  }
};

namespace {

Ranges moved(const std::vector<refrain::access::Range>& ranges, std::uint64_t address) {
  Ranges out;
  for (const refrain::access::Range& range : ranges) {
    out.push_back(
        {address + static_cast<std::uint64_t>(range.begin), address + static_cast<std::uint64_t>(range.end)});
  }
  return out;
}

}  // namespace

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
    found = code_->kernels.emplace(kernel, code_->make(*function)).first;
  }
  Prediction out;
  out.barrier = !found->second.access.bounded();
  const Footprint& footprint = found->second.footprints.of(arguments);
  for (std::size_t i = 0; i < footprint.pointers.size(); ++i) {
    const Footprint::Pointer& known = footprint.pointers[i];
    const PointerAccess& access = found->second.access.pointers[i];
    Prediction::Pointer pointer;
    pointer.offset = known.offset_bytes;
    if (pointer.offset + sizeof pointer.address > arguments.params.size()) continue;
    std::memcpy(&pointer.address, arguments.params.data() + pointer.offset, sizeof pointer.address);
    pointer.reads = moved(known.reads, pointer.address);
    pointer.writes = moved(known.writes, pointer.address);
    pointer.must_write = moved(known.must_write, pointer.address);
    // Both must hold: what the kernel's roles allow, and what the launch does.
    pointer.reads_anywhere = known.reads_anywhere && (access.read || access.atomic);
    pointer.writes_anywhere = known.writes_anywhere && (access.written || access.atomic);
    if (!access.read && !access.atomic) pointer.reads.clear();
    if (!access.written && !access.atomic) pointer.writes.clear();
    out.pointers.push_back(pointer);
  }
  return out;
}

}  // namespace refrain::access::test
