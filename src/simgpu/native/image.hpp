// Native kernels: how a library of ours (cuBLAS, cuRAND) hands the software device kernels that are host
// functions, as a real library hands a real driver machine code. Plain data: it crosses shared libraries.
// It must not hold anything that a file could bring: an image counts only with the address of the device's
// own version number in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace refrain::simgpu::native {

inline constexpr std::uint32_t kVersion = 1;

// What libcuda.so.1 of the software device exports and no other does: a std::uint32_t with kVersion.
inline constexpr char kVersionSymbol[] = "simgpu_native_image_version";

enum : std::uint32_t { kRead = 1, kWrite = 2 };

// One execution of one kernel, on any host thread, one at a time on a device; no CUDA call is permitted in
// it.
struct Run {
  const void* params;  // in kernel layout
  // The host's pointer to [address, address + bytes) of device memory. nullptr: a fault, which is noted with
  // the names of the library call and of its operand; the kernel then returns. Read what is read with kRead
  // before writing it, and ask for no byte that is not touched: each request is checked and counted.
  std::byte* (*reach)(Run*, std::uint64_t address, std::uint64_t bytes, std::uint64_t alignment,
                      std::uint32_t access, const char* call, const char* operand);
  // Another fault, such as the host being out of memory: the message begins with the call's name.
  void (*fail)(Run*, const char* message);
  std::uint64_t thread_instructions;  // set by the kernel: a multiply-add is one
};

struct Kernel {
  const char* name;
  const std::uint32_t* param_bytes;  // sizes; offsets follow from them as in a struct of 8-byte alignment
  std::uint32_t param_count;
  void (*body)(Run*) noexcept;
};

// What cuModuleLoadData and cuLibraryLoadData take. It begins as machine code does, so that whoever looks at
// it sees code without PTX; no ELF file has such a class byte.
inline constexpr char kMagic[16] = {'\x7f', 'E', 'L', 'F', 's', 'i', 'm', 'g',
                                    'p',    'u', ' ', 'c', 'o', 'd', 'e', '\0'};
struct Image {
  char magic[sizeof kMagic];
  const void* version;  // the address of simgpu_native_image_version in this process
  const Kernel* kernels;
  std::uint64_t kernel_count;
};

}  // namespace refrain::simgpu::native
