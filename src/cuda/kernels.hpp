// Which kernel a function handle is, and what it reads and writes. Images are parsed when a kernel of theirs
// is first launched: most programs load far more code than they run.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "access/access.hpp"
#include "access/footprint.hpp"
#include "access/manifest.hpp"

namespace refrain::cuda {

struct KernelParam {
  std::uint32_t offset_bytes;
  std::uint32_t bytes;
  std::uint32_t align_bytes;
  friend bool operator==(const KernelParam&, const KernelParam&) = default;
};

struct Kernel {
  std::string name;
  bool known = false;  // by its PTX or the user's word: access and params are valid
  std::string reason;  // why not replayable, for people; empty if it is
  access::KernelAccess access;
  std::vector<KernelParam> params;
  std::uint32_t param_bytes = 0;
  // Which bytes a launch touches, one for each architecture whose PTX the module has: any of them may run.
  std::vector<access::Footprints> footprints;
  // Where else in the parameters an address could be, though no access was found that uses it.
  std::vector<std::uint32_t> other_words;
  bool layouts_differ = false;  // between the architectures; params are those of one of them
};

// Handles are CUmodule, CUlibrary, CUfunction and CUkernel: all pointers of the driver's, so one table serves
// each pair. Thread safety: the caller's lock.
class Kernels {
 public:
  // The driver has loaded the image (as cuModuleLoadData takes it), or the file. The bytes are read now: the
  // caller may free them after loading.
  void add_image(const void* owner, const void* image);
  // Compute capability of the device (75 for 7.5): which machine code the driver prefers to which PTX depends
  // on it.
  void set_device_sm(std::uint32_t sm) { device_sm_ = sm; }
  void add_file(const void* owner, const char* path);
  // What the user states of kernels, for those that are first launched from now on; refused: called with a
  // line for each entry that cannot stand. Either call may be missing in older drivers (CUDA 12.4 brought
  // them): then nothing stated stands of kernels without PTX.
  struct ParamCalls {
    decltype(&cuFuncGetParamInfo) of_function = nullptr;
    decltype(&cuKernelGetParamInfo) of_kernel = nullptr;
  };
  using Refused = std::function<void(const std::string& line)>;
  void set_manifest(access::Manifest manifest, ParamCalls calls, Refused refused);
  // Names of entries that no kernel launched so far has.
  std::vector<std::string> unmatched_entries() const;
  // owner: whatever handle the function was got from; alias: another handle of the same image
  // (cuLibraryGetModule).
  void add_alias(const void* owner, const void* alias);
  void add_function(const void* owner, const void* function, const char* name, bool library_kernel);
  void add_function_alias(const void* function, const void* alias);
  void remove(const void* owner);

  struct Found {
    Kernel* kernel = nullptr;     // nullptr: a handle that was got in a way that we did not see
    bool library_kernel = false;  // the handle is a CUkernel, which graphs want to be told
  };
  Found find(const void* function);

 private:
  struct Image {
    std::vector<std::string> texts;  // PTX of every architecture
    std::vector<std::uint32_t> ptx_sm;
    std::vector<std::uint32_t> code_sm;  // of the machine code beside it
    std::vector<ptx::Module> modules;
    std::string error;
    bool parsed = false;
    bool of_objects = false;  // that the driver links: a program compiled with -rdc=true
    std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels;
  };
  struct Function {
    std::shared_ptr<Image> image;
    std::string name;
    Kernel* kernel = nullptr;
    bool library_kernel = false;
  };

  static void parse(Image& image);
  static void link_objects(Image& image);
  static void add_facts(Kernel& kernel, const ptx::Module& module, const ptx::Function& function);
  Kernel* kernel_of(const void* handle, const Function& function);
  std::string doubt_about(const Image& image) const;
  void state(Kernel& kernel, const void* handle, bool library_kernel);
  std::optional<std::vector<KernelParam>> ask_params(const void* handle, bool library_kernel) const;

  std::uint32_t device_sm_ = 0;
  access::Manifest manifest_;
  std::vector<bool> matched_;  // by entry
  ParamCalls param_calls_;
  Refused refused_;
  std::unordered_map<const void*, std::shared_ptr<Image>> images_;
  std::unordered_map<const void*, Function> functions_;
};

}  // namespace refrain::cuda
