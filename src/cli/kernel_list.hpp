// Which kernels a file holds, and what each of them reads and writes. Needs no device and no driver; it
// prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace refrain::cli {

// A parameter of the kernel, or an address inside a parameter that is a struct.
struct ListedParameter {
  std::uint32_t offset_bytes = 0;  // in the parameter block
  std::uint32_t bytes = 0;
  bool pointer = false;  // memory is reached through it; read, written and atomic are may-facts
  bool read = false;
  bool written = false;
  bool whole_overwrite = false;  // access/whole_overwrite.hpp
  bool atomic = false;
  bool operator==(const ListedParameter&) const = default;
};

struct ListedKernel {
  std::string name;                         // mangled
  std::uint32_t sm = 0;                     // architecture of the PTX: 75 for compute_75; 0: it has none
  std::vector<ListedParameter> parameters;  // by offset; none where there is no PTX
  bool replayable = false;
  std::string reason;  // why not; empty if it is
  bool operator==(const ListedKernel&) const = default;
};

struct ListRequest {
  std::string path;  // a program, a library, an object (ELF), a fat binary, a cubin, or PTX text
  bool all_architectures = false;                       // else of each kernel in each fat binary the newest
  std::function<bool(const std::string& name)> wanted;  // by mangled name; asked before anything is analysed
  std::function<void(double part)> progress;            // 0 to 1, often; may be empty
  std::function<void(const std::string& text)> warn;    // of PTX or machine code that cannot be read
};

// In the order of the file; the same kernel with the same facts, from several fat binaries, once. Holds one
// entry's contents at a time, whatever the size of the file. Throws UsageError: not readable, or none of
// those.
std::vector<ListedKernel> list_kernels(const ListRequest& request);

}  // namespace refrain::cli
