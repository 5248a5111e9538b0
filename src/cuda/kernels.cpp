// From images to kernels. Must never fail the program: an image that cannot be read has unknown kernels.
#include "cuda/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "fatbin/fatbin.hpp"
#include "ptx/link.hpp"

namespace refrain::cuda {
namespace {

constexpr std::uint32_t kPointerBytes = 8;

// An address is aligned as its parameter is, and that is 8 but for packed structs.
void find_other_words(Kernel& kernel) {
  for (const KernelParam& param : kernel.params) {
    const std::uint32_t step = std::clamp(param.align_bytes, 1u, kPointerBytes);
    for (std::uint32_t at = 0; at + kPointerBytes <= param.bytes; at += step) {
      const std::uint32_t offset = param.offset_bytes + at;
      const bool listed = std::any_of(kernel.access.pointers.begin(), kernel.access.pointers.end(),
                                      [&](const auto& access) { return access.offset_bytes == offset; });
      if (!listed) kernel.other_words.push_back(offset);
    }
  }
}

// Whether each address that is stated has room inside one parameter.
std::string misplaced(const access::StatedKernel& entry, const std::vector<KernelParam>& params) {
  for (const access::StatedPointer& pointer : entry.pointers) {
    const bool has_room = std::any_of(params.begin(), params.end(), [&](const KernelParam& param) {
      return pointer.offset_bytes >= param.offset_bytes &&
             pointer.offset_bytes + kPointerBytes <= param.offset_bytes + param.bytes;
    });
    if (!has_room)
      return fmt::format("it has no parameter with an address at offset {}", pointer.offset_bytes);
  }
  return {};
}

// Nothing is known of where, so everywhere; what is not certainly overwritten keeps some of its old contents.
access::Footprint footprint_of(const access::StatedKernel& entry) {
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // beyond any allocation, and sums do not overflow
  access::Footprint footprint;
  for (const access::StatedPointer& stated : entry.pointers) {
    access::Footprint::Pointer pointer;
    pointer.offset_bytes = stated.offset_bytes;
    pointer.reads_anywhere = stated.read || (stated.written && !stated.whole_overwrite);
    pointer.writes_anywhere = stated.written;
    // Bytes of another pointer's buffer are in here too. That does no harm: whatever else is written is
    // either overwritten whole as well, or counts as read.
    if (stated.whole_overwrite) pointer.must_write = {{-kFar, kFar}};
    footprint.pointers.push_back(std::move(pointer));
  }
  return footprint;
}

}  // namespace

void Kernels::add_image(const void* owner, const void* image) {
  auto entry = std::make_shared<Image>();
  try {
    entry->texts = fatbin::ptx_of_image(image);
    entry->of_objects = !fatbin::linked_images(image).empty();
    const fatbin::ImageKind kind = fatbin::classify(image);
    if (kind == fatbin::ImageKind::kWrapper || kind == fatbin::ImageKind::kContainer) {
      for (const fatbin::Entry& part : fatbin::entries_of_image(image)) {
        if (part.kind == static_cast<std::uint16_t>(fatbin::EntryKind::kPtx))
          entry->ptx_sm.push_back(part.sm);
        if (part.kind == static_cast<std::uint16_t>(fatbin::EntryKind::kElf))
          entry->code_sm.push_back(part.sm);
      }
    }
    if (entry->texts.empty()) entry->error = "its module holds machine code only, no PTX";
  } catch (const fatbin::Error& error) {
    entry->error = error.what();
  }
  images_[owner] = std::move(entry);
}

void Kernels::add_file(const void* owner, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  add_image(owner, bytes.c_str());
}

void Kernels::add_alias(const void* owner, const void* alias) {
  const auto it = images_.find(owner);
  if (it != images_.end()) images_[alias] = it->second;
}

void Kernels::add_function(const void* owner, const void* function, const char* name, bool library_kernel) {
  const auto it = images_.find(owner);
  if (it == images_.end()) return;
  functions_[function] = {
      .image = it->second, .name = name, .kernel = nullptr, .library_kernel = library_kernel};
}

void Kernels::add_function_alias(const void* function, const void* alias) {
  const auto it = functions_.find(function);
  if (it == functions_.end()) return;
  Function function_alias = it->second;
  function_alias.library_kernel = false;
  functions_[alias] = std::move(function_alias);
}

void Kernels::remove(const void* owner) {
  const auto it = images_.find(owner);
  if (it == images_.end()) return;
  const std::shared_ptr<Image> image = it->second;
  std::erase_if(images_, [&](const auto& entry) { return entry.second == image; });
  std::erase_if(functions_, [&](const auto& entry) { return entry.second.image == image; });
}

Kernels::Found Kernels::find(const void* function) {
  const auto it = functions_.find(function);
  if (it == functions_.end()) return {};
  Function& entry = it->second;
  if (!entry.kernel) entry.kernel = kernel_of(function, entry);
  return {.kernel = entry.kernel, .library_kernel = entry.library_kernel};
}

void Kernels::parse(Image& image) {
  image.parsed = true;
  for (const std::string& text : image.texts) {
    try {
      image.modules.push_back(ptx::parse(text));
    } catch (const ptx::Error& error) {
      image.error = std::string("its PTX cannot be read: ") + error.what();
    }
  }
  image.texts = {};
  if (image.of_objects) link_objects(image);
}

// A kernel's function calls may lead into another object. Objects for one architecture belong together; those
// that cannot be linked stay as they are, and calls out of them unknown.
void Kernels::link_objects(Image& image) {
  std::map<std::string, std::vector<ptx::Module>> by_target;
  for (ptx::Module& module : image.modules) by_target[module.target].push_back(std::move(module));
  image.modules.clear();
  for (auto& [target, objects] : by_target) {
    try {
      image.modules.push_back(ptx::link(objects));
    } catch (const ptx::Error&) {
      for (ptx::Module& object : objects) image.modules.push_back(std::move(object));
    }
  }
}

// One image may hold the kernel for several architectures, and which of them the device runs is the driver's
// choice: what holds is what all of them may do together.
void Kernels::add_facts(Kernel& kernel, const ptx::Module& module, const ptx::Function& function) {
  std::vector<KernelParam> params;
  for (std::uint32_t i = 0; i < function.param_count; ++i) {
    const ptx::Variable& param = function.param(i);
    params.push_back({static_cast<std::uint32_t>(param.offset_bytes),
                      static_cast<std::uint32_t>(param.size_bytes), param.align_bytes});
  }
  const access::KernelAccess facts = access::analyse(module, function);
  if (facts.bounded()) {
    std::vector<std::uint32_t> offsets;
    for (const access::PointerAccess& pointer : facts.pointers) offsets.push_back(pointer.offset_bytes);
    kernel.footprints.emplace_back(access::slice_of(module, function, offsets), offsets);
  }
  if (!kernel.known) {
    kernel.known = true;
    kernel.access = facts;
    kernel.reason = facts.reason;
    kernel.param_bytes = static_cast<std::uint32_t>(function.param_bytes);
    kernel.params = std::move(params);
    return;
  }
  kernel.access.effects |= facts.effects;
  if (kernel.reason.empty()) kernel.reason = facts.reason;
  if (params != kernel.params) {
    kernel.layouts_differ = true;
    kernel.access.effects |= access::kUnknownPointer;
    kernel.reason = "its parameters differ between the architectures in its module";
  }
  for (const access::PointerAccess& other : facts.pointers) {
    const auto same = std::find_if(kernel.access.pointers.begin(), kernel.access.pointers.end(),
                                   [&](const auto& mine) { return mine.offset_bytes == other.offset_bytes; });
    if (same == kernel.access.pointers.end()) {
      kernel.access.pointers.push_back(other);
    } else {
      same->read = same->read || other.read;
      same->written = same->written || other.written;
      same->atomic = same->atomic || other.atomic;
    }
  }
}

// Machine code for this very device runs instead of PTX; it was made from the same source, but only PTX of
// the same architecture is sure to say the same.
std::string Kernels::doubt_about(const Image& image) const {
  if (!image.error.empty()) return image.error;
  std::uint32_t best = 0;
  for (const std::uint32_t sm : image.code_sm) {
    if (sm / 10 == device_sm_ / 10 && sm <= device_sm_) best = std::max(best, sm);
  }
  const bool same = std::find(image.ptx_sm.begin(), image.ptx_sm.end(), best) != image.ptx_sm.end();
  if (best == 0 || same) return {};
  return "the device runs its machine code for sm_" + std::to_string(best) + ", and there is no PTX for that";
}

void Kernels::set_manifest(access::Manifest manifest, ParamCalls calls, Refused refused) {
  manifest_ = std::move(manifest);
  matched_.assign(manifest_.kernels.size(), false);
  param_calls_ = calls;
  refused_ = std::move(refused);
}

// nullopt: the driver cannot tell.
std::optional<std::vector<KernelParam>> Kernels::ask_params(const void* handle, bool library_kernel) const {
  constexpr std::uint32_t kAlignBytes = 4;  // not told; of a struct that holds an address, at least that
  auto* const either = const_cast<void*>(handle);
  std::vector<KernelParam> params;
  for (;;) {
    std::size_t offset = 0, bytes = 0;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (library_kernel && param_calls_.of_kernel) {
      result = param_calls_.of_kernel(static_cast<CUkernel>(either), params.size(), &offset, &bytes);
    } else if (!library_kernel && param_calls_.of_function) {
      result = param_calls_.of_function(static_cast<CUfunction>(either), params.size(), &offset, &bytes);
    }
    if (result == CUDA_ERROR_INVALID_VALUE) return params;  // behind the last
    if (result != CUDA_SUCCESS) return std::nullopt;
    params.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes), kAlignBytes});
  }
}

std::vector<std::string> Kernels::unmatched_entries() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) out.push_back(manifest_.kernels[i].name);
  }
  return out;
}

// What the manifest says of the kernel, if it says something and the analysis does not say otherwise.
void Kernels::state(Kernel& kernel, const void* handle, bool library_kernel) {
  const access::StatedKernel* const entry = manifest_.find(kernel.name);
  if (!entry) return;
  matched_[static_cast<std::size_t>(entry - manifest_.kernels.data())] = true;
  std::optional<std::vector<KernelParam>> params = kernel.params;
  if (!kernel.known || kernel.layouts_differ) params = ask_params(handle, library_kernel);
  std::string problem = kernel.known ? access::contradiction(kernel.access, *entry) : std::string();
  if (problem.empty())
    problem = params ? misplaced(*entry, *params) : "the driver does not tell what parameters it has";
  if (!problem.empty()) {
    refused_(fmt::format("manifest: the entry for kernel {} is refused: {}", kernel.name, problem));
    return;
  }
  bool has_whole = false;
  const bool was_bounded = kernel.known && kernel.access.bounded();
  std::vector<access::PointerAccess> pointers;
  for (const access::StatedPointer& stated : entry->pointers) {
    const bool keeps_some = stated.written && !stated.whole_overwrite;
    const bool atomic = std::any_of(
        kernel.access.pointers.begin(), kernel.access.pointers.end(),
        [&](const auto& found) { return found.offset_bytes == stated.offset_bytes && found.atomic; });
    pointers.push_back({stated.offset_bytes, stated.read || keeps_some, stated.written, atomic});
    has_whole |= stated.whole_overwrite;
  }
  kernel.access.pointers = std::move(pointers);
  // The analysis knows which bytes, unless it could not follow them; of whole allocations it knows nothing.
  if (!was_bounded || has_whole) {
    kernel.footprints.clear();
    kernel.footprints.emplace_back(footprint_of(*entry));
  }
  kernel.known = true;
  kernel.params = std::move(*params);
  kernel.param_bytes =
      kernel.params.empty() ? 0 : kernel.params.back().offset_bytes + kernel.params.back().bytes;
  kernel.access.effects &= ~access::kUnboundedEffects;
  if (!entry->replayable) kernel.access.effects |= access::kStated;
  kernel.reason = access::gravest(kernel.access.effects);
}

Kernel* Kernels::kernel_of(const void* handle, const Function& function) {
  Image& image = *function.image;
  const std::string& name = function.name;
  std::unique_ptr<Kernel>& slot = image.kernels[name];
  if (slot) return slot.get();
  if (!image.parsed) parse(image);
  slot = std::make_unique<Kernel>();
  slot->name = name;
  slot->reason = image.error.empty() ? "it is not in its module's PTX" : image.error;
  for (const ptx::Module& module : image.modules) {
    const ptx::Function* function = module.find_function(name);
    if (function && function->is_entry && function->is_defined) add_facts(*slot, module, *function);
  }
  const std::string doubt = doubt_about(image);
  if (slot->known && !doubt.empty()) {
    slot->access.effects |= access::kUnknownPointer;
    slot->reason = doubt;
  }
  state(*slot, handle, function.library_kernel);
  find_other_words(*slot);
  return slot.get();
}

}  // namespace refrain::cuda
