// What a generator produces, call after call, in the order of the host API. It must not know device memory.
#pragma once

#pragma GCC visibility push(default)
#include <curand.h>
#pragma GCC visibility pop

#include <cstdint>
#include <memory>

namespace refrain::simgpu::curand {

enum class Kind {
  kBits,
  kLongLong,
  kUniform,
  kUniformDouble,
  kNormal,
  kNormalDouble,
  kLogNormal,
  kLogNormalDouble,
  kPoisson
};

std::size_t bytes_of(Kind kind);

// One call's wish. first and second: mean and standard deviation, or lambda.
struct Request {
  Kind kind;
  std::uint64_t count;
  double first = 0, second = 0;
};

struct Setup {
  curandRngType_t type;
  std::uint64_t seed = 0, offset = 0;
  std::uint32_t dimensions = 1;
};

// Each continues where its last call ended. Not thread safe.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual void fill(const Request& request, void* out) = 0;
};

// The types that exist here: what a request of them can be. CURAND_STATUS_SUCCESS or why not.
curandStatus_t check(const Setup& setup, const Request& request);
// By how much a request moves the offset on: what a new seed then continues from.
std::uint64_t advance_of(const Setup& setup, const Request& request);
bool exists(curandRngType_t type);
std::unique_ptr<Sequence> make_sequence(const Setup& setup);

}  // namespace refrain::simgpu::curand
