// The bit generators, from their papers, with the parameters and seeding that cuRAND documents in its public
// device header: XORWOW (Marsaglia 2003), MRG32k3a (L'Ecuyer 1999), Philox4x32-10 (Salmon et al. 2011). They
// must not know orderings.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace refrain::simgpu::curand {

// What both interleaved engines have: `kThreads` of them run beside each other, `kJumpBits` says how far
// apart (2^kJumpBits numbers) their sequences begin.
class Xorwow {
 public:
  static constexpr std::uint32_t kThreads = 4096;
  static constexpr unsigned kJumpBits = 67;

  explicit Xorwow(std::uint64_t seed);
  std::uint32_t bits() noexcept;
  float uniform() noexcept;
  double uniform_double() noexcept;
  std::pair<float, float> normals() noexcept;
  std::pair<double, double> normals_double() noexcept;

  // Skips ahead many at once: each image is that of one bit of the state.
  class Skip {
   public:
    static Skip by(std::uint64_t count);
    static Skip by_power(unsigned exponent);  // 2^exponent
    void apply(Xorwow& engine) const noexcept;

   private:
    static constexpr std::size_t kBits = 160;
    using Words = std::array<std::uint32_t, 5>;
    static Skip one();
    Skip then(const Skip& next) const;
    Words image(const Words& words) const noexcept;
    std::array<Words, kBits> images_{};
    std::uint32_t weyl_ = 0;  // what the counter moves by
  };

 private:
  std::array<std::uint32_t, 5> words_;
  std::uint32_t weyl_;
};

class Mrg32k3a {
 public:
  static constexpr std::uint32_t kThreads = 81920;
  static constexpr unsigned kJumpBits = 76;

  explicit Mrg32k3a(std::uint64_t seed);
  std::uint32_t bits() noexcept;
  float uniform() noexcept;
  double uniform_double() noexcept;
  std::pair<float, float> normals() noexcept;
  std::pair<double, double> normals_double() noexcept;

  class Skip {
   public:
    static Skip by(std::uint64_t count);
    static Skip by_power(unsigned exponent);
    void apply(Mrg32k3a& engine) const noexcept;

   private:
    using Matrix = std::array<std::array<std::uint64_t, 3>, 3>;
    static Skip one();
    Skip then(const Skip& next) const;
    Matrix first_{}, second_{};
  };

 private:
  std::uint64_t next() noexcept;  // in [1, the first modulus]
  std::array<std::uint64_t, 3> first_, second_;
};

// The four numbers of one counter: position 4 * block of the sequence.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t subsequence,
                                    std::uint64_t block) noexcept;

float uniform_of(std::uint32_t bits) noexcept;
double uniform_of(std::uint32_t low, std::uint32_t high) noexcept;
// Box-Muller: sine first.
std::pair<float, float> normals_of(std::uint32_t first, std::uint32_t second) noexcept;
std::pair<double, double> normals_of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                     std::uint32_t d) noexcept;

}  // namespace refrain::simgpu::curand
