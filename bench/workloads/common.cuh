// What both trainers share: error checks, tensors with an account of their bytes, flags, data, digest.
// It must not hold kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

constexpr int kBlock = 128;
inline int blocks_for(size_t threads) {
  return static_cast<int>((threads + kBlock - 1) / kBlock);
}

// Launches kernel<<<>>> with one thread for each of `threads` items.
#define LAUNCH(kernel, threads, ...)                      \
  do {                                                    \
    kernel<<<blocks_for(threads), kBlock>>>(__VA_ARGS__); \
    check_launch(#kernel);                                \
  } while (0)

enum class Kind { kParameter, kGradient, kOptimizer, kActivation, kCount };

// Bytes allocated now, and the split at the moment of the highest sum.
struct Account {
  size_t now[static_cast<int>(Kind::kCount)] = {};
  size_t at_peak[static_cast<int>(Kind::kCount)] = {};
  size_t most[static_cast<int>(Kind::kCount)] = {};
  size_t peak = 0;

  void add(Kind kind, size_t bytes) {
    size_t& mine = now[static_cast<int>(kind)];
    mine += bytes;
    if (mine > most[static_cast<int>(kind)]) most[static_cast<int>(kind)] = mine;
    size_t sum = 0;
    for (size_t part : now) sum += part;
    if (sum <= peak) return;
    peak = sum;
    std::memcpy(at_peak, now, sizeof now);
  }
  void remove(Kind kind, size_t bytes) { now[static_cast<int>(kind)] -= bytes; }
  void print() const {
    const size_t lasting = most[0] + most[1] + most[2];
    std::printf("memory peak %zu bytes: parameters %zu, gradients %zu, optimizer %zu, activations %zu\n",
                peak, at_peak[0], at_peak[1], at_peak[2], at_peak[3]);
    std::printf("parameters, gradients and optimizer state are at most %zu bytes: %.1f %% of the peak\n",
                lasting, 100.0 * double(lasting) / double(peak));
  }
};

inline Account& account() {
  static Account instance;
  return instance;
}

// One cudaMalloc. Freed by reset() or at the end of its scope.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(size_t count, Kind kind = Kind::kActivation) : count_(count), kind_(kind) {
    check(cudaMalloc(&data_, bytes()), "cudaMalloc");
    account().add(kind, bytes());
  }
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    reset();
    swap(other);
    return *this;
  }
  ~Tensor() { reset(); }

  void reset() {
    if (data_ == nullptr) return;
    check(cudaFree(data_), "cudaFree");
    account().remove(kind_, bytes());
    data_ = nullptr;
  }
  float* data() const { return data_; }
  operator float*() const { return data_; }
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(float); }

  std::vector<float> to_host() const {
    std::vector<float> out(count_);
    check(cudaMemcpy(out.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
    return out;
  }
  void from_host(const std::vector<float>& values) {
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to device");
  }

 private:
  void swap(Tensor& other) {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(kind_, other.kind_);
  }
  float* data_ = nullptr;
  size_t count_ = 0;
  Kind kind_ = Kind::kActivation;
};

// Integers on the device, counted as activations.
class Indices {
 public:
  explicit Indices(const std::vector<int>& values) : tensor_(values.size()) {
    check(cudaMemcpy(tensor_.data(), values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice),
          "cudaMemcpy of indices");
  }
  const int* data() const { return reinterpret_cast<const int*>(tensor_.data()); }

 private:
  Tensor tensor_;
};

// SplitMix64: the same numbers everywhere.
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  float uniform() { return static_cast<float>(next() >> 40) / static_cast<float>(1 << 24); }  // [0, 1)
  float about_normal() { return (uniform() + uniform() + uniform() + uniform() - 2.0f) * 1.7320508f; }
};

inline uint64_t fnv1a(uint64_t digest, const void* data, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t index = 0; index < bytes; ++index) digest = (digest ^ at[index]) * 0x100000001b3ull;
  return digest;
}
constexpr uint64_t kFnvStart = 0xcbf29ce484222325ull;

inline void print_step(int step, float loss) {
  uint32_t bits;
  std::memcpy(&bits, &loss, sizeof bits);
  std::printf("step %d loss %.6f 0x%08x\n", step, static_cast<double>(loss), bits);
}

// Flags: --name value, or --name alone for a switch. A bad one: one line and exit code 2.
struct Flag {
  const char* name;
  int* integer;  // one of the three
  float* fraction;
  bool* on;
  int least;
};

[[noreturn]] inline void bad_flag(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(2);
}

inline void parse_flags(int count, char** arguments, const std::vector<Flag>& flags) {
  for (int index = 1; index < count; ++index) {
    const Flag* found = nullptr;
    std::string names;
    for (const Flag& flag : flags) {
      if (std::strcmp(flag.name, arguments[index]) == 0) found = &flag;
      names += std::string(" ") + flag.name;
    }
    if (found == nullptr) bad_flag(std::string("unknown flag ") + arguments[index] + "; there are:" + names);
    if (found->on != nullptr) {
      *found->on = true;
      continue;
    }
    if (index + 1 == count) bad_flag(std::string(found->name) + " wants a value");
    const char* text = arguments[++index];
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    const bool number = end != text && *end == '\0';
    if (found->integer != nullptr) {
      if (!number || value != static_cast<int>(value) || value < found->least) {
        bad_flag(std::string(found->name) + " " + text + ": an integer of at least " +
                 std::to_string(found->least));
      }
      *found->integer = static_cast<int>(value);
    } else {
      if (!number || value < 0 || value >= 1)
        bad_flag(std::string(found->name) + " " + text + ": a number in [0, 1)");
      *found->fraction = static_cast<float>(value);
    }
  }
}
