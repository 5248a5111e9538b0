// Choosing, loading and unloading code. It must not hold API functions (library.cpp, function.cpp).
#include "simgpu/driver/module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "fatbin/fatbin.hpp"
#include "simgpu/driver/access_log.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr int kDefaultDynamicSharedBytes = 48 * 1024;

[[noreturn]] void fail(CUresult code, const std::string& text) {
  say(text);
  throw CudaError(code);
}

// The newest PTX that the device's compute capability covers, or nullptr.
const fatbin::Entry* newest_of(const std::vector<fatbin::Entry>& entries) {
  const fatbin::Entry* best = nullptr;
  for (const fatbin::Entry& entry : entries) {
    const bool ptx = entry.kind == static_cast<std::uint16_t>(fatbin::EntryKind::kPtx);
    if (ptx && entry.sm <= settings().sm && (best == nullptr || entry.sm > best->sm)) best = &entry;
  }
  return best;
}

std::string choose_of_entries(const std::vector<fatbin::Entry>& entries) {
  if (const fatbin::Entry* best = newest_of(entries)) return fatbin::ptx_text(*best);
  std::string found;
  for (const fatbin::Entry& entry : entries) {
    const bool ptx = entry.kind == static_cast<std::uint16_t>(fatbin::EntryKind::kPtx);
    found += fmt::format("{}{}_{}", found.empty() ? "" : ", ", ptx ? "compute" : "sm", entry.sm);
  }
  fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
       fmt::format(
           "no PTX for compute capability {} in the fat binary (it holds: {}); build with nvcc -gencode "
           "arch=compute_{},code=compute_{}",
           settings().sm, found.empty() ? "nothing" : found, settings().sm, settings().sm));
}

[[noreturn]] void fail_elf() {
  fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
       "the image is machine code (a cubin); simgpu runs PTX: build with nvcc -gencode "
       "arch=compute_75,code=compute_75");
}

[[noreturn]] void fail_unknown() {
  fail(CUDA_ERROR_INVALID_IMAGE, "the image is neither PTX text, nor a fat binary, nor an ELF file");
}

void forget_managed(Device& device, const Library& library) {
  for (const auto& code : library.code) {
    if (code == nullptr) continue;
    for (const GlobalVariable& global : code->globals()) {
      if (global.managed) device.managed.erase(global.address);
    }
  }
}

std::unique_ptr<Module> make_code(Device& device, Library& library, Ordinal ordinal) {
  const Source& source = library.source;
  if (source.native != nullptr) return load_native(*source.native, device.memory, ordinal);
  if (library.managed == nullptr) library.managed = std::make_shared<ManagedVariables>(device.memory);
  auto code = load_linked(source.ptx, device.memory, execution_settings(ordinal), library.managed);
  for (const GlobalVariable& global : code->globals()) {
    if (global.managed) device.managed.emplace(global.address, ManagedRange{global.bytes, nullptr});
  }
  return code;
}

// One text for each object of the program. Those of libraries that come as machine code only (cudadevrt) are
// left out: a kernel that needs them is refused by the name of the function.
Source choose_linked(const std::vector<const void*>& parts) {
  Source out;
  for (const void* part : parts) {
    const std::vector<fatbin::Entry> entries = fatbin::entries_of_image(part);
    if (const fatbin::Entry* best = newest_of(entries)) out.ptx.push_back(fatbin::ptx_text(*best));
  }
  if (out.ptx.empty() && !parts.empty()) choose_of_entries(fatbin::entries_of_image(parts.front()));
  return out;
}

// Begins an image of ours; no other kind begins so. Then a 64-bit count, and for each text its 64-bit size
// and bytes.
constexpr char kLinkedMagic[4] = {'\x7f', 's', 'l', 'i'};

std::uint64_t take_number(const char*& from) {
  std::uint64_t out = 0;
  std::memcpy(&out, from, sizeof out);
  from += sizeof out;
  return out;
}

Source choose_of_linked(const void* image) {
  const char* from = static_cast<const char*>(image) + sizeof kLinkedMagic;
  Source out;
  for (std::uint64_t count = take_number(from); count > 0; --count) {
    const std::uint64_t size = take_number(from);
    out.ptx.emplace_back(from, size);
    from += size;
  }
  return out;
}

void put(std::vector<char>& out, const void* from, std::size_t bytes) {
  const std::size_t end = out.size();
  out.resize(end + bytes);
  std::memcpy(out.data() + end, from, bytes);
}

void put_number(std::vector<char>& out, std::uint64_t number) {
  put(out, &number, sizeof number);
}

}  // namespace

std::vector<char> linked_image(const std::vector<std::string>& ptx) {
  std::vector<char> out;
  put(out, kLinkedMagic, sizeof kLinkedMagic);
  put_number(out, ptx.size());
  for (const std::string& text : ptx) {
    put_number(out, text.size());
    put(out, text.data(), text.size());
  }
  return out;
}

Source choose_source(const void* image) {
  if (const native::Image* native = native_image(image)) return {{}, native};
  if (std::memcmp(image, kLinkedMagic, sizeof kLinkedMagic) == 0) return choose_of_linked(image);
  try {
    if (const auto parts = fatbin::linked_images(image); !parts.empty()) return choose_linked(parts);
    switch (fatbin::classify(image)) {
      case fatbin::ImageKind::kWrapper:
      case fatbin::ImageKind::kContainer: return {{choose_of_entries(fatbin::entries_of_image(image))}};
      case fatbin::ImageKind::kPtxText: return {{static_cast<const char*>(image)}};
      case fatbin::ImageKind::kElf: fail_elf();
      case fatbin::ImageKind::kUnknown: break;
    }
  } catch (const fatbin::Error& error) {
    fail(CUDA_ERROR_INVALID_IMAGE, error.what());
  }
  fail_unknown();
}

Source choose_source_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(CUDA_ERROR_FILE_NOT_FOUND, fmt::format("cannot read {}", path));
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  bytes.resize(bytes.size() + 16);  // so that looking at a header never leaves the string
  switch (fatbin::classify(bytes.data())) {
    case fatbin::ImageKind::kContainer:
      try {
        const auto size = bytes.size() - 16;
        return {{choose_of_entries(
            fatbin::entries_of_bytes({reinterpret_cast<const std::byte*>(bytes.data()), size}))}};
      } catch (const fatbin::Error& error) {
        fail(CUDA_ERROR_INVALID_IMAGE, fmt::format("{}: {}", path, error.what()));
      }
    case fatbin::ImageKind::kPtxText: return {{bytes.c_str()}};
    case fatbin::ImageKind::kElf: fail_elf();
    default: fail_unknown();
  }
}

std::shared_ptr<Library> add_library(Device& device, Source source, Context* module_of) {
  auto library = std::make_shared<Library>();
  library->is_module = module_of != nullptr;
  library->context = module_of;
  library->source = std::move(source);
  device.libraries.add(library);
  return library;
}

namespace {

void add_functions(Device& device, Library& library, const Module& code) {
  for (const auto& kernel : code.kernels()) {
    auto function = std::make_shared<Function>();
    function->library = &library;
    function->name = kernel->name();
    for (auto& attributes : function->attributes) {
      attributes.max_dynamic_shared_bytes =
          std::max(0, kDefaultDynamicSharedBytes - static_cast<int>(kernel->static_shared_bytes()));
    }
    device.functions.add(function);
    library.functions.emplace(kernel->name(), std::move(function));
  }
}

}  // namespace

const std::shared_ptr<Module>& load(Device& device, Library& library, Ordinal ordinal) {
  require(library.load_error == CUDA_SUCCESS, library.load_error);
  if (library.is_module) ordinal = library.context->ordinal;
  auto& code = library.code[ordinal];
  if (code != nullptr) return code;
  try {
    code = make_code(device, library, ordinal);
  } catch (const LoadError& error) {
    say(error.what());
    library.load_error = CUDA_ERROR_INVALID_PTX;
    library.load_log = error.what();
    throw CudaError(CUDA_ERROR_INVALID_PTX);
  }
  if (library.module_id.empty()) library.module_id = log_module(library.source);
  if (library.functions.empty()) add_functions(device, library, *code);
  return code;
}

const Kernel& kernel_on(Device& device, const Function& function, Ordinal ordinal) {
  Library& library = *function.library;
  require(!library.is_module || library.context->ordinal == ordinal, CUDA_ERROR_INVALID_HANDLE);
  return *load(device, library, ordinal)->find_kernel(function.name);
}

const Kernel& any_kernel(Device& device, const Function& function) {
  for (const auto& code : function.library->code) {
    if (code != nullptr) return *code->find_kernel(function.name);
  }
  return kernel_on(device, function, 0);
}

void unload(Device& device, Library& library) {
  for (const auto& [name, function] : library.functions) device.functions.remove(function.get());
  forget_managed(device, library);
  device.libraries.remove(&library);
}

void unload_modules_of(Device& device, const Context& context) {
  std::vector<std::shared_ptr<Library>> gone;
  for (const auto& [handle, library] : device.libraries.all()) {
    if (library->context == &context) gone.push_back(library);
  }
  for (const auto& library : gone) unload(device, *library);
}

void reload_libraries(Device& device, Ordinal ordinal) {
  for (const auto& [handle, library] : device.libraries.all()) {
    auto& code = library->code[ordinal];
    if (library->is_module || code == nullptr) continue;
    const auto loaded = std::count_if(library->code.begin(), library->code.end(),
                                      [](const auto& other) { return other != nullptr; });
    if (loaded == 1) {  // nobody else needs the managed ones
      forget_managed(device, *library);
      library->managed.reset();
    }
    code.reset();  // the old variables go before the new ones come
    code = make_code(device, *library, ordinal);
  }
}

}  // namespace refrain::simgpu::driver
