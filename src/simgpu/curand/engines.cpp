// The bit generators and their transformations. Expressions are written so that each rounds as the public
// device header's does on a host.
#include "simgpu/curand/engines.hpp"

#include <cmath>

namespace refrain::simgpu::curand {
namespace {

constexpr float kInverse32 = 2.3283064e-10f;           // 2^-32
constexpr double kInverse53 = 1.1102230246251565e-16;  // 2^-53
constexpr float kTwoPi = 6.2831855f;
constexpr double kPi = 3.1415926535897932;

std::pair<float, float> turn(float radius_source, float angle) {
  const float radius = std::sqrt(-2.0f * std::log(radius_source));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}
std::pair<double, double> turn(double radius_source, double half_turns) {
  const double radius = std::sqrt(-2.0 * std::log(radius_source));
  return {std::sin(half_turns * kPi) * radius, std::cos(half_turns * kPi) * radius};
}

// The function applied count times, by repeated squaring.
template <class Skip, class Then>
Skip power(Skip square, std::uint64_t count, Skip identity, Then then) {
  for (; count != 0; count >>= 1, square = then(square, square)) {
    if ((count & 1) != 0) identity = then(identity, square);
  }
  return identity;
}

}  // namespace

float uniform_of(std::uint32_t bits) noexcept {
  return static_cast<float>(bits) * kInverse32 + kInverse32 / 2.0f;
}
double uniform_of(std::uint32_t low, std::uint32_t high) noexcept {
  const std::uint64_t both = low ^ (std::uint64_t{high} << 21);
  return static_cast<double>(both) * kInverse53 + kInverse53 / 2.0;
}
std::pair<float, float> normals_of(std::uint32_t first, std::uint32_t second) noexcept {
  constexpr float kScale = kInverse32 * kTwoPi;
  return turn(uniform_of(first), static_cast<float>(second) * kScale + kScale / 2);
}
std::pair<double, double> normals_of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                     std::uint32_t d) noexcept {
  const std::uint64_t angle = c ^ (std::uint64_t{d} << 21);
  return turn(uniform_of(a, b), static_cast<double>(angle) * (kInverse53 * 2.0) + kInverse53);
}

// ---- XORWOW

Xorwow::Xorwow(std::uint64_t seed) {
  const std::uint32_t low = (static_cast<std::uint32_t>(seed) ^ 0xaad26b49u) * 1099087573u;
  const std::uint32_t high = (static_cast<std::uint32_t>(seed >> 32) ^ 0xf7dcefddu) * 2591861531u;
  words_ = {123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low};
  weyl_ = 6615241u + high + low;
}

std::uint32_t Xorwow::bits() noexcept {
  const std::uint32_t mixed = words_[0] ^ (words_[0] >> 2), last = words_[4];
  words_ = {words_[1], words_[2], words_[3], last, (last ^ (last << 4)) ^ (mixed ^ (mixed << 1))};
  weyl_ += 362437u;
  return words_[4] + weyl_;
}
float Xorwow::uniform() noexcept {
  return uniform_of(bits());
}
double Xorwow::uniform_double() noexcept {
  const std::uint32_t low = bits();
  return uniform_of(low, bits());
}
std::pair<float, float> Xorwow::normals() noexcept {
  const std::uint32_t first = bits();
  return normals_of(first, bits());
}
std::pair<double, double> Xorwow::normals_double() noexcept {
  const std::uint32_t a = bits(), b = bits(), c = bits();
  return normals_of(a, b, c, bits());
}

Xorwow::Skip::Words Xorwow::Skip::image(const Words& words) const noexcept {
  Words out{};
  for (std::size_t bit = 0; bit < kBits; ++bit) {
    if ((words[bit / 32] >> (bit % 32) & 1) == 0) continue;
    for (std::size_t word = 0; word < out.size(); ++word) out[word] ^= images_[bit][word];
  }
  return out;
}
Xorwow::Skip Xorwow::Skip::one() {
  Skip out;
  Xorwow engine(0);
  for (std::size_t bit = 0; bit < kBits; ++bit) {
    engine.words_ = {};
    engine.words_[bit / 32] = 1u << (bit % 32);
    engine.bits();
    out.images_[bit] = engine.words_;
  }
  out.weyl_ = 362437u;
  return out;
}
Xorwow::Skip Xorwow::Skip::then(const Skip& next) const {
  Skip out;
  for (std::size_t bit = 0; bit < kBits; ++bit) out.images_[bit] = next.image(images_[bit]);
  out.weyl_ = weyl_ + next.weyl_;
  return out;
}
Xorwow::Skip Xorwow::Skip::by(std::uint64_t count) {
  Skip nothing;
  for (std::size_t bit = 0; bit < kBits; ++bit) nothing.images_[bit][bit / 32] = 1u << (bit % 32);
  return power(one(), count, nothing, [](const Skip& a, const Skip& b) { return a.then(b); });
}
Xorwow::Skip Xorwow::Skip::by_power(unsigned exponent) {
  Skip out = one();
  while (exponent-- != 0) out = out.then(out);
  return out;
}
void Xorwow::Skip::apply(Xorwow& engine) const noexcept {
  engine.words_ = image(engine.words_);
  engine.weyl_ += weyl_;
}

// ---- MRG32k3a

namespace {
constexpr std::uint64_t kModulus1 = 4294967087, kModulus2 = 4294944443;
constexpr std::uint64_t kA12 = 1403580, kA13 = 810728, kA21 = 527612, kA23 = 1370589;
constexpr double kMrgNorm = 2.3283065498378288e-10;  // 1 / kModulus1
constexpr double kMrgBits = 1.000000048662;          // stretches it over 32 bits

using Matrix = std::array<std::array<std::uint64_t, 3>, 3>;

Matrix multiply(const Matrix& a, const Matrix& b, std::uint64_t modulus) {
  Matrix out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) out[i][j] = (out[i][j] + a[i][k] * b[k][j] % modulus) % modulus;
    }
  }
  return out;
}
std::array<std::uint64_t, 3> multiply(const Matrix& a, const std::array<std::uint64_t, 3>& v,
                                      std::uint64_t modulus) {
  std::array<std::uint64_t, 3> out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) out[i] = (out[i] + a[i][k] * v[k] % modulus) % modulus;
  }
  return out;
}
}  // namespace

Mrg32k3a::Mrg32k3a(std::uint64_t seed) {
  first_.fill(12345);
  second_.fill(12345);
  if (seed == 0) return;
  const std::uint64_t low = static_cast<std::uint32_t>(seed) ^ 0x55555555u;
  const std::uint64_t high = static_cast<std::uint32_t>(seed >> 32) ^ 0xAAAAAAAAu;
  const std::uint64_t one[] = {low, high, low}, other[] = {high, low, high};
  for (std::size_t i = 0; i < 3; ++i) {
    first_[i] = one[i] * first_[i] % kModulus1;
    second_[i] = other[i] * second_[i] % kModulus2;
  }
}

std::uint64_t Mrg32k3a::next() noexcept {
  const std::uint64_t p1 = (kA12 * first_[1] + kA13 * (kModulus1 - first_[0])) % kModulus1;
  const std::uint64_t p2 = (kA21 * second_[2] + kA23 * (kModulus2 - second_[0])) % kModulus2;
  first_ = {first_[1], first_[2], p1};
  second_ = {second_[1], second_[2], p2};
  return p1 > p2 ? p1 - p2 : p1 - p2 + kModulus1;
}
std::uint32_t Mrg32k3a::bits() noexcept {
  return static_cast<std::uint32_t>(static_cast<double>(next()) * kMrgBits);
}
double Mrg32k3a::uniform_double() noexcept {
  return static_cast<double>(next()) * kMrgNorm;
}
float Mrg32k3a::uniform() noexcept {
  return static_cast<float>(uniform_double());
}
std::pair<float, float> Mrg32k3a::normals() noexcept {
  const float radius = uniform();
  return turn(radius, uniform() * kTwoPi);
}
std::pair<double, double> Mrg32k3a::normals_double() noexcept {
  const double radius = uniform_double();
  return turn(radius, uniform_double() * 2.0);
}

Mrg32k3a::Skip Mrg32k3a::Skip::one() {
  Skip out;
  out.first_ = {{{0, 1, 0}, {0, 0, 1}, {kModulus1 - kA13, kA12, 0}}};
  out.second_ = {{{0, 1, 0}, {0, 0, 1}, {kModulus2 - kA23, 0, kA21}}};
  return out;
}
Mrg32k3a::Skip Mrg32k3a::Skip::then(const Skip& next) const {
  Skip out;
  out.first_ = multiply(next.first_, first_, kModulus1);
  out.second_ = multiply(next.second_, second_, kModulus2);
  return out;
}
Mrg32k3a::Skip Mrg32k3a::Skip::by(std::uint64_t count) {
  Skip nothing;
  for (std::size_t i = 0; i < 3; ++i) nothing.first_[i][i] = nothing.second_[i][i] = 1;
  return power(one(), count, nothing, [](const Skip& a, const Skip& b) { return a.then(b); });
}
Mrg32k3a::Skip Mrg32k3a::Skip::by_power(unsigned exponent) {
  Skip out = one();
  while (exponent-- != 0) out = out.then(out);
  return out;
}
void Mrg32k3a::Skip::apply(Mrg32k3a& engine) const noexcept {
  engine.first_ = multiply(first_, engine.first_, kModulus1);
  engine.second_ = multiply(second_, engine.second_, kModulus2);
}

// ---- Philox

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t subsequence,
                                    std::uint64_t block) noexcept {
  std::uint32_t keys[] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  std::array<std::uint32_t, 4> counter = {
      static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
      static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53u} * counter[0],
                        odd = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(odd >> 32) ^ counter[1] ^ keys[0], static_cast<std::uint32_t>(odd),
               static_cast<std::uint32_t>(even >> 32) ^ counter[3] ^ keys[1],
               static_cast<std::uint32_t>(even)};
    keys[0] += 0x9E3779B9u;
    keys[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace refrain::simgpu::curand
