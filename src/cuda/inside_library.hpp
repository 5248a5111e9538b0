// Whether this thread is inside a function of a library (cuBLAS and the like) that was called through us: the
// driver calls that it makes there are the library's, not the program's. Nothing else belongs here.
#pragma once

#include <cstdint>

namespace refrain::cuda {

enum class Inside : std::uint8_t {
  kNothing,
  kSetUp,   // the library's memory is its own; all else is handled as a call of the program's
  kOp,      // the call as a whole is one op, and this thread holds the runtime's lock: all goes to the driver
  kReplay,  // the same, made again by a plan: the engine is at work and must not be asked for anything
};

inline thread_local Inside inside_library = Inside::kNothing;
inline bool inside_one_op() noexcept {
  return inside_library == Inside::kOp || inside_library == Inside::kReplay;
}

class InsideLibrary {
 public:
  explicit InsideLibrary(Inside inside) : before_(inside_library) { inside_library = inside; }
  ~InsideLibrary() { inside_library = before_; }
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;

 private:
  Inside before_;
};

}  // namespace refrain::cuda
