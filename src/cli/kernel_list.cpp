// From a file to its kernels, fat binary by fat binary. Files may be hundreds of megabytes, and damaged.
#include "cli/kernel_list.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "access/access.hpp"
#include "access/whole_overwrite.hpp"
#include "cli/usage_error.hpp"
#include "fatbin/fatbin.hpp"
#include "ptx/ast.hpp"

namespace refrain::cli {
namespace {

constexpr const char* kAccepted =
    "accepted: a program or library with CUDA code (ELF), a fat binary, a cubin, or PTX text";
constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA in the ELF registry: the file itself is machine code
constexpr std::uint32_t kAddressBytes = 8;

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) fail(path, file);
    if (S_ISDIR(status.st_mode)) {
      ::close(file);
      throw UsageError(kBadInput, fmt::format("{} is a folder; {}", path, kAccepted));
    }
    bytes_ = static_cast<std::size_t>(status.st_size);
    if (bytes_ != 0) at_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    if (at_ == MAP_FAILED) fail(path, file);
    ::close(file);
  }
  ~MappedFile() {
    if (bytes_ != 0) munmap(at_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(at_), bytes_}; }
  // What was read so far need not stay in memory; it is read again where it is looked at again.
  void forget() const noexcept {
    if (bytes_ != 0) madvise(at_, bytes_, MADV_DONTNEED);
  }

 private:
  [[noreturn]] static void fail(const std::string& path, int file) {
    const int error = errno;
    if (file >= 0) ::close(file);
    throw UsageError(kBadInput,
                     fmt::format("{} cannot be read: {}; {}", path, std::strerror(error), kAccepted));
  }

  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

// A kernel's PTX gives its own name as the subject of the reason; a list has it beside it.
std::string without_name(const std::string& reason, const std::string& name) {
  return reason.starts_with(name + ' ') ? reason.substr(name.size() + 1) : reason;
}

std::vector<ListedParameter> parameters_of(const ptx::Module& module, const ptx::Function& kernel,
                                           const access::KernelAccess& facts) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, ListedParameter> by_place;
  const auto place = [&](std::uint32_t offset, std::uint32_t bytes) -> ListedParameter& {
    ListedParameter& parameter = by_place[{offset, bytes}];
    parameter.offset_bytes = offset;
    parameter.bytes = bytes;
    return parameter;
  };
  for (std::uint32_t i = 0; i < kernel.param_count; ++i) {
    const ptx::Variable& param = kernel.param(i);
    place(static_cast<std::uint32_t>(param.offset_bytes), static_cast<std::uint32_t>(param.size_bytes));
  }
  std::vector<std::uint32_t> offsets;
  for (const access::PointerAccess& pointer : facts.pointers) offsets.push_back(pointer.offset_bytes);
  std::vector<bool> whole(offsets.size(), false);
  if (facts.bounded()) {
    if (const auto slice = access::slice_of(module, kernel, offsets))
      whole = access::whole_overwrites(*slice);
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const access::PointerAccess& pointer = facts.pointers[i];
    ListedParameter& parameter = place(pointer.offset_bytes, kAddressBytes);
    parameter.pointer = true;
    parameter.read = pointer.read;
    parameter.written = pointer.written;
    parameter.atomic = pointer.atomic;
    parameter.whole_overwrite = whole[i] && !pointer.read;
  }
  std::vector<ListedParameter> parameters;
  for (const auto& [key, parameter] : by_place) parameters.push_back(parameter);
  return parameters;
}

class Lister {
 public:
  explicit Lister(const ListRequest& request) : request_(request) {}

  void add_container(std::span<const std::byte> container) {
    std::vector<fatbin::Entry> entries = fatbin::entries_of_bytes(container);
    // Newest first: who has a name first keeps it.
    std::stable_sort(entries.begin(), entries.end(),
                     [](const fatbin::Entry& a, const fatbin::Entry& b) { return a.sm > b.sm; });
    names_here_.clear();
    unread_ptx_.clear();
    for (const fatbin::Entry& entry : entries) {
      if (entry.kind == static_cast<std::uint16_t>(fatbin::EntryKind::kPtx)) add_ptx_entry(entry);
    }
    const std::string reason = unread_ptx_.empty() ? "its module holds machine code only, no PTX"
                                                   : "its PTX cannot be read: " + unread_ptx_;
    for (const fatbin::Entry& entry : entries) {
      if (entry.kind == static_cast<std::uint16_t>(fatbin::EntryKind::kElf)) add_code_entry(entry, reason);
    }
  }
  // sm: 0 where the text is to say it.
  void add_ptx(std::string_view text, std::uint32_t sm) {
    const ptx::Module module = ptx::parse(text);
    if (sm == 0) sm = sm_of(module.target);
    std::set<std::string> names;
    for (const ptx::Function& function : module.functions) {
      if (!function.is_entry || !function.is_defined || !request_.wanted(function.name)) continue;
      if (!request_.all_architectures && names_here_.contains(function.name)) continue;
      names.insert(function.name);
      const access::KernelAccess facts = access::analyse(module, function);
      add({.name = function.name,
           .sm = sm,
           .parameters = parameters_of(module, function, facts),
           .replayable = facts.replayable(),
           .reason = without_name(facts.reason, function.name)});
      report_progress();
    }
    names_here_.merge(names);
  }
  void add_code(std::span<const std::byte> elf, const std::string& reason) {
    for (std::string& name : fatbin::kernels_of_machine_code(elf)) {
      if (!request_.wanted(name) || !names_here_.insert(name).second) continue;
      add({.name = std::move(name), .sm = 0, .parameters = {}, .replayable = false, .reason = reason});
    }
  }
  void set_part(double part) {
    part_ = part;
    report_progress();
  }
  std::vector<ListedKernel> take() { return std::move(kernels_); }

 private:
  static std::uint32_t sm_of(std::string_view target) {
    std::uint32_t sm = 0;
    if (target.starts_with("sm_")) std::from_chars(target.data() + 3, target.data() + target.size(), sm);
    return sm;
  }
  void report_progress() const {
    if (request_.progress) request_.progress(part_);
  }
  void add_ptx_entry(const fatbin::Entry& entry) {
    std::string error;
    try {
      add_ptx(fatbin::ptx_text(entry), entry.sm);
    } catch (const ptx::Error& unread) {
      error = unread.what();
    } catch (const fatbin::Error& unread) {
      error = unread.what();
    }
    if (error.empty()) return;
    request_.warn(fmt::format("PTX for sm_{} cannot be read: {}", entry.sm, error));
    unread_ptx_ = error;
  }
  void add_code_entry(const fatbin::Entry& entry, const std::string& reason) {
    try {
      const std::string contents = fatbin::contents_of(entry);
      add_code(std::as_bytes(std::span(contents)), reason);
    } catch (const fatbin::Error& error) {
      request_.warn(fmt::format("machine code for sm_{} cannot be read: {}", entry.sm, error.what()));
    }
    report_progress();
  }
  void add(ListedKernel kernel) {
    const auto [first, last] = index_.equal_range(kernel.name);
    for (auto it = first; it != last; ++it) {
      if (kernels_[it->second] == kernel) return;
    }
    index_.emplace(kernel.name, kernels_.size());
    kernels_.push_back(std::move(kernel));
  }

  const ListRequest& request_;
  std::vector<ListedKernel> kernels_;
  std::multimap<std::string, std::size_t> index_;  // by name
  std::set<std::string> names_here_;               // in the fat binary that is being read
  std::string unread_ptx_;                         // the last error in it
  double part_ = 0;
};

void add_elf(Lister& lister, const MappedFile& file) {
  constexpr std::size_t kForgetEvery = 32u << 20;
  const std::span<const std::byte> bytes = file.bytes();
  std::size_t forgotten = 0, containers = 0;
  fatbin::for_each_container(bytes, [&](std::span<const std::byte> container) {
    ++containers;
    const auto at = static_cast<std::size_t>(container.data() - bytes.data());
    if (at - forgotten > kForgetEvery) {
      file.forget();
      forgotten = at;
    }
    lister.set_part(static_cast<double>(at) / static_cast<double>(bytes.size()));
    lister.add_container(container);
  });
  if (containers == 0) throw fatbin::Error("no CUDA code in it (sections .nv_fatbin and __nv_relfatbin)");
}

bool is_machine_code(std::span<const std::byte> bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_machine == kCudaMachine;
}

void add_file(Lister& lister, const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  constexpr std::size_t kHeadBytes = 4096;  // more than what comes before the first directive of PTX
  const std::size_t head_bytes = std::min(bytes.size(), kHeadBytes);
  const std::string head(reinterpret_cast<const char*>(bytes.data()), head_bytes);
  switch (fatbin::classify(head.c_str())) {
    case fatbin::ImageKind::kContainer: lister.add_container(bytes); break;
    case fatbin::ImageKind::kElf:
      if (is_machine_code(bytes)) {
        lister.add_code(bytes, "it is machine code only, no PTX");
      } else {
        add_elf(lister, file);
      }
      break;
    case fatbin::ImageKind::kPtxText:
      lister.add_ptx({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 0);
      break;
    default: throw fatbin::Error("none of the forms that CUDA code comes in");
  }
}

}  // namespace

std::vector<ListedKernel> list_kernels(const ListRequest& request) {
  const MappedFile file(request.path);
  Lister lister(request);
  try {
    add_file(lister, file);
  } catch (const fatbin::Error& error) {
    throw UsageError(kBadInput, fmt::format("{}: {}; {}", request.path, error.what(), kAccepted));
  } catch (const ptx::Error& error) {
    throw UsageError(kBadInput, fmt::format("{}: {}; {}", request.path, error.what(), kAccepted));
  }
  return lister.take();
}

}  // namespace refrain::cli
