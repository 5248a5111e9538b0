// Device memory as a native kernel touches it. It must not keep anything between two runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "simgpu/native/image.hpp"

namespace refrain::simgpu::native {

// Thrown after a fault was noted: the kernel ends.
struct Stopped {};

class Memory {
 public:
  // call: the library function, for messages.
  Memory(Run& run, const char* call) : run_(run), call_(call) {}

  std::byte* reach(std::uint64_t address, std::uint64_t bytes, std::uint64_t alignment, std::uint32_t access,
                   const char* operand) {
    std::byte* pointer = run_.reach(&run_, address, bytes, alignment, access, call_, operand);
    if (pointer == nullptr) throw Stopped{};
    return pointer;
  }
  template <class T>
  const T* read(std::uint64_t address, std::uint64_t count, const char* operand) {
    return reinterpret_cast<const T*>(reach(address, count * sizeof(T), sizeof(T), kRead, operand));
  }
  template <class T>
  T* write(std::uint64_t address, std::uint64_t count, const char* operand) {
    return reinterpret_cast<T*>(reach(address, count * sizeof(T), sizeof(T), kWrite, operand));
  }
  // For the device's virtual time: one multiply-add of a thread, or as much of anything else.
  void count(double instructions) { run_.thread_instructions += static_cast<std::uint64_t>(instructions); }

 private:
  Run& run_;
  const char* call_;
};

// A kernel's body around work(arguments, memory). Arguments has a member `call`.
template <class Arguments, void (*kWork)(const Arguments&, Memory&)>
void body(Run* run) noexcept {
  const auto& arguments = *static_cast<const Arguments*>(run->params);
  Memory memory(*run, arguments.call);
  try {
    kWork(arguments, memory);
  } catch (const Stopped&) {
  } catch (const std::exception& error) {
    run->fail(run, (std::string(arguments.call) + ": " + error.what()).c_str());
  }
}

}  // namespace refrain::simgpu::native
