// The orders of the host API: interleaved engines, Philox's counters, Sobol's points. It must not know
// handles.
#include "simgpu/curand/sequence.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "simgpu/curand/engines.hpp"

namespace refrain::simgpu::curand {
namespace {

constexpr std::uint32_t kDimensions = 10;

// The Poisson number that a uniform one stands for, by its distribution function from the mode outwards.
std::uint32_t poisson_of(double uniform, double lambda) {
  const auto mode = static_cast<std::int64_t>(lambda);
  const double at_mode =
      std::exp(static_cast<double>(mode) * std::log(lambda) - lambda - std::lgamma(mode + 1.0));
  double low = at_mode, high = at_mode;
  uniform -= at_mode;
  for (std::int64_t step = 1; uniform > 0; ++step) {
    if (step <= mode) {
      low *= static_cast<double>(mode - step + 1) / lambda;
      uniform -= low;
      if (uniform <= 0) return static_cast<std::uint32_t>(mode - step);
    }
    high *= lambda / static_cast<double>(mode + step);
    uniform -= high;
    if (uniform <= 0 || (high == 0 && step > mode)) return static_cast<std::uint32_t>(mode + step);
  }
  return static_cast<std::uint32_t>(mode);
}

float log_of(float normal, const Request& request) {
  return std::exp(static_cast<float>(request.first) + static_cast<float>(request.second) * normal);
}
double log_of(double normal, const Request& request) {
  return std::exp(request.first + request.second * normal);
}
float moved(float normal, const Request& request) {
  return normal * static_cast<float>(request.second) + static_cast<float>(request.first);
}
double moved(double normal, const Request& request) {
  return normal * request.second + request.first;
}

// XORWOW and MRG32k3a: many engines take turns, each giving one number, or one pair, at a time.
template <class Engine>
class Interleaved final : public Sequence {
 public:
  explicit Interleaved(const Setup& setup) : setup_(setup) {}

  void fill(const Request& request, void* out) override {
    if (engines_.empty()) start();
    switch (request.kind) {
      case Kind::kBits: return singles<std::uint32_t>(request, out, [](Engine& e) { return e.bits(); });
      case Kind::kUniform: return singles<float>(request, out, [](Engine& e) { return e.uniform(); });
      case Kind::kUniformDouble:
        return singles<double>(request, out, [](Engine& e) { return e.uniform_double(); });
      case Kind::kPoisson:
        return singles<std::uint32_t>(
            request, out, [&](Engine& e) { return poisson_of(e.uniform_double(), request.first); });
      case Kind::kNormal:
        return pairs<float>(
            request, out, [](Engine& e) { return e.normals(); }, [&](float n) { return moved(n, request); });
      case Kind::kLogNormal:
        return pairs<float>(
            request, out, [](Engine& e) { return e.normals(); }, [&](float n) { return log_of(n, request); });
      case Kind::kNormalDouble:
        return pairs<double>(
            request, out, [](Engine& e) { return e.normals_double(); },
            [&](double n) { return moved(n, request); });
      case Kind::kLogNormalDouble:
        return pairs<double>(
            request, out, [](Engine& e) { return e.normals_double(); },
            [&](double n) { return log_of(n, request); });
      case Kind::kLongLong: break;
    }
    throw std::logic_error("64-bit numbers of a 32-bit generator");
  }

 private:
  void start() {
    const auto jump = Engine::Skip::by_power(Engine::kJumpBits);
    const auto before = Engine::Skip::by(setup_.offset / Engine::kThreads);
    next_ = static_cast<std::uint32_t>(setup_.offset % Engine::kThreads);
    Engine engine(setup_.seed);
    engines_.reserve(Engine::kThreads);
    for (std::uint32_t thread = 0; thread < Engine::kThreads; ++thread) {
      engines_.push_back(engine);
      if (setup_.offset >= Engine::kThreads) before.apply(engines_.back());
      if (thread < next_) engines_.back().bits();
      jump.apply(engine);
    }
  }
  Engine& turn() {
    Engine& engine = engines_[next_];
    next_ = (next_ + 1) % Engine::kThreads;
    return engine;
  }
  template <class T, class Draw>
  void singles(const Request& request, void* out, Draw draw) {
    for (std::uint64_t index = 0; index < request.count; ++index) static_cast<T*>(out)[index] = draw(turn());
  }
  template <class T, class Draw, class Finish>
  void pairs(const Request& request, void* out, Draw draw, Finish finish) {
    for (std::uint64_t index = 0; index < request.count; index += 2) {
      const auto [first, second] = draw(turn());
      static_cast<T*>(out)[index] = finish(first);
      static_cast<T*>(out)[index + 1] = finish(second);
    }
  }

  Setup setup_;
  std::vector<Engine> engines_;
  std::uint32_t next_ = 0;
};

// Philox: 65536 subsequences take turns, each giving four numbers at a time. Four 32-bit or float numbers
// take one counter of the subsequence, four doubles take two.
class Philox final : public Sequence {
 public:
  explicit Philox(const Setup& setup) : seed_(setup.seed), next_(setup.offset % kRound) {
    const std::uint64_t rounds = setup.offset / kRound;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread)
      blocks_.push_back(rounds + (thread < next_ / 4 ? 1 : 0));
  }

  void fill(const Request& request, void* out) override {
    switch (request.kind) {
      case Kind::kBits: return each<std::uint32_t>(request, out, [&](auto g, auto i) { return bits(g)[i]; });
      case Kind::kUniform:
        return each<float>(request, out, [&](auto g, auto i) { return uniform_of(bits(g)[i]); });
      case Kind::kUniformDouble:
        return each<double>(request, out, [&](auto g, auto i) { return uniform(g, i); });
      case Kind::kPoisson:
        return each<std::uint32_t>(request, out,
                                   [&](auto g, auto i) { return poisson_of(uniform(g, i), request.first); });
      case Kind::kNormal:
        return each<float>(request, out, [&](auto g, auto i) { return moved(normal(g, i), request); });
      case Kind::kLogNormal:
        return each<float>(request, out, [&](auto g, auto i) { return log_of(normal(g, i), request); });
      case Kind::kNormalDouble:
        return each<double>(request, out,
                            [&](auto g, auto i) { return moved(normal_double(g, i), request); });
      case Kind::kLogNormalDouble:
        return each<double>(request, out,
                            [&](auto g, auto i) { return log_of(normal_double(g, i), request); });
      case Kind::kLongLong: break;
    }
    throw std::logic_error("64-bit numbers of a 32-bit generator");
  }

 private:
  static constexpr std::uint64_t kThreads = 65536, kRound = 4 * kThreads;

  std::array<std::uint32_t, 4> bits(std::uint64_t thread, std::uint64_t further = 0) const {
    return philox(seed_, thread, blocks_[thread] + further);
  }
  double uniform(std::uint64_t thread, std::uint32_t index) const {
    const auto four = bits(thread, index / 2);
    return uniform_of(four[index % 2 * 2], four[index % 2 * 2 + 1]);
  }
  float normal(std::uint64_t thread, std::uint32_t index) const {
    const auto four = bits(thread);
    const auto [first, second] = normals_of(four[index / 2 * 2], four[index / 2 * 2 + 1]);
    return index % 2 == 0 ? first : second;
  }
  double normal_double(std::uint64_t thread, std::uint32_t index) const {
    const auto four = bits(thread, index / 2);
    const auto [first, second] = normals_of(four[0], four[1], four[2], four[3]);
    return index % 2 == 0 ? first : second;
  }
  template <class T, class Draw>
  void each(const Request& request, void* out, Draw draw) {
    const bool doubles = bytes_of(request.kind) == 8 || request.kind == Kind::kPoisson;
    for (std::uint64_t index = 0; index < request.count; ++index) {
      const std::uint64_t thread = next_ / 4;
      static_cast<T*>(out)[index] = draw(thread, static_cast<std::uint32_t>(next_ % 4));
      if (next_ % 4 == 3) blocks_[thread] += doubles ? 2 : 1;
      next_ = (next_ + 1) % kRound;
    }
  }

  std::uint64_t seed_, next_;
  std::vector<std::uint64_t> blocks_;
};

// Sobol's points in Gray code order; one dimension after the other in the output. The direction numbers are
// those of Joe and Kuo (2008) for the first dimensions: degree and coefficients of the polynomial, first
// numbers.
struct Polynomial {
  unsigned degree, coefficients;
  std::uint32_t first[5];
};
constexpr Polynomial kPolynomials[kDimensions - 1] = {{1, 0, {1}},
                                                      {2, 1, {1, 3}},
                                                      {3, 1, {1, 3, 1}},
                                                      {3, 2, {1, 1, 1}},
                                                      {4, 1, {1, 1, 3, 3}},
                                                      {4, 4, {1, 3, 5, 13}},
                                                      {5, 2, {1, 1, 5, 5, 17}},
                                                      {5, 4, {1, 1, 5, 5, 5}},
                                                      {5, 7, {1, 1, 7, 11, 19}}};

template <class Word>
class Sobol final : public Sequence {
 public:
  explicit Sobol(const Setup& setup) : dimensions_(setup.dimensions), next_(setup.offset) {
    for (std::uint32_t dimension = 0; dimension < dimensions_; ++dimension)
      directions_.push_back(make(dimension));
  }

  void fill(const Request& request, void* out) override {
    switch (request.kind) {
      case Kind::kBits:
      case Kind::kLongLong: return points<Word>(request, out, [](Word x) { return x; });
      case Kind::kUniform:
        return points<float>(
            request, out, [](Word x) { return uniform_of(static_cast<std::uint32_t>(x >> (kBits - 32))); });
      case Kind::kUniformDouble: return points<double>(request, out, [](Word x) { return uniform(x); });
      default: break;
    }
    throw std::logic_error("a distribution that Sobol's points are not made into");
  }

 private:
  static constexpr unsigned kBits = 8 * sizeof(Word);
  using Directions = std::array<Word, kBits>;

  static double uniform(Word x) {
    if constexpr (kBits == 32) {
      return x * 2.3283064365386963e-10 + 2.3283064365386963e-10;  // 2^-32 twice
    } else {
      return static_cast<double>(x >> 11) * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
    }
  }
  static Directions make(std::uint32_t dimension) {
    Directions out{};
    if (dimension == 0) {
      for (unsigned bit = 0; bit < kBits; ++bit) out[bit] = Word{1} << (kBits - 1 - bit);
      return out;
    }
    const Polynomial& p = kPolynomials[dimension - 1];
    for (unsigned bit = 0; bit < kBits; ++bit) {
      if (bit < p.degree) {
        out[bit] = Word{p.first[bit]} << (kBits - 1 - bit);
        continue;
      }
      out[bit] = out[bit - p.degree] ^ (out[bit - p.degree] >> p.degree);
      for (unsigned k = 1; k < p.degree; ++k) {
        if ((p.coefficients >> (p.degree - 1 - k) & 1) != 0) out[bit] ^= out[bit - k];
      }
    }
    return out;
  }
  template <class T, class Finish>
  void points(const Request& request, void* out, Finish finish) {
    const std::uint64_t each = request.count / dimensions_;
    auto* to = static_cast<T*>(out);
    for (const Directions& directions : directions_) {
      Word x = 0;
      const std::uint64_t gray = next_ ^ (next_ >> 1);
      for (unsigned bit = 0; bit < kBits; ++bit) {
        if ((gray >> bit & 1) != 0) x ^= directions[bit];
      }
      for (std::uint64_t index = 0; index < each; ++index) {
        *to++ = finish(x);
        x ^= directions[static_cast<unsigned>(std::countr_one(next_ + index)) % kBits];
      }
    }
    next_ += each;
  }

  std::uint32_t dimensions_;
  std::uint64_t next_;
  std::vector<Directions> directions_;
};

bool is_quasi(curandRngType_t type) {
  return type >= CURAND_RNG_QUASI_DEFAULT;
}

// Normal numbers of the interleaved engines.
bool in_pairs(const Setup& setup, const Request& request) {
  return setup.type != CURAND_RNG_PSEUDO_PHILOX4_32_10 &&
         (request.kind == Kind::kNormal || request.kind == Kind::kNormalDouble ||
          request.kind == Kind::kLogNormal || request.kind == Kind::kLogNormalDouble);
}

}  // namespace

std::size_t bytes_of(Kind kind) {
  switch (kind) {
    case Kind::kLongLong:
    case Kind::kUniformDouble:
    case Kind::kNormalDouble:
    case Kind::kLogNormalDouble: return 8;
    default: return 4;
  }
}

bool exists(curandRngType_t type) {
  return make_sequence({type}) != nullptr;
}

curandStatus_t check(const Setup& setup, const Request& request) {
  const bool wide = setup.type == CURAND_RNG_QUASI_SOBOL64;
  if (request.kind == Kind::kLongLong && !wide) return CURAND_STATUS_TYPE_ERROR;
  if (request.kind == Kind::kBits && wide) return CURAND_STATUS_TYPE_ERROR;
  if (is_quasi(setup.type)) {
    return request.count % setup.dimensions == 0 ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  }
  return in_pairs(setup, request) && request.count % 2 != 0 ? CURAND_STATUS_LENGTH_NOT_MULTIPLE
                                                            : CURAND_STATUS_SUCCESS;
}

std::uint64_t advance_of(const Setup& setup, const Request& request) {
  if (is_quasi(setup.type)) return request.count / setup.dimensions;
  return in_pairs(setup, request) ? request.count / 2 : request.count;
}

std::unique_ptr<Sequence> make_sequence(const Setup& setup) {
  switch (setup.type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW: return std::make_unique<Interleaved<Xorwow>>(setup);
    case CURAND_RNG_PSEUDO_MRG32K3A: return std::make_unique<Interleaved<Mrg32k3a>>(setup);
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: return std::make_unique<Philox>(setup);
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32: return std::make_unique<Sobol<std::uint32_t>>(setup);
    case CURAND_RNG_QUASI_SOBOL64: return std::make_unique<Sobol<std::uint64_t>>(setup);
    default: return nullptr;
  }
}

}  // namespace refrain::simgpu::curand
