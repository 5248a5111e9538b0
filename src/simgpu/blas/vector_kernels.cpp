// Level 1. Sums are kept wider than their terms, in the order of the elements: the same bytes on every host.
// It must not call OpenBLAS.
#include <cmath>

#include "simgpu/blas/algebra.hpp"
#include "simgpu/blas/kernels.hpp"

namespace refrain::simgpu::blas {
namespace {

template <class W>
struct Real {
  using Type = W;
};
template <class R>
struct Real<std::complex<R>> {
  using Type = R;
};
template <class W>
using RealOf = typename Real<W>::Type;

// The squares and sums of the largest double still fit.
template <class W>
using Wide = std::conditional_t<
    IsComplex<W>::value,
    std::complex<std::conditional_t<std::is_same_v<RealOf<W>, float>, double, long double>>,
    std::conditional_t<std::is_same_v<RealOf<W>, float>, double, long double>>;

// |re| + |im|, as BLAS measures.
template <class W>
RealOf<W> magnitude(W value) {
  if constexpr (IsComplex<W>::value) {
    return std::abs(value.real()) + std::abs(value.imag());
  } else {
    return std::abs(value);
  }
}

}  // namespace

// y = alpha x + y
void axpy(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    const auto x = operands.load_vector<W>(arguments.b, 0, arguments.n, "x");
    auto y = operands.load_vector<W>(arguments.c, 0, arguments.n, "y");
    for (std::size_t index = 0; index < y.size(); ++index) y[index] += alpha * x[index];
    operands.store_vector(arguments.c, 0, y, "y");
  });
}

// x = alpha x
void scale(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    const W alpha = operands.scalar<W>(arguments.alpha, "alpha");
    auto x = operands.load_vector<W>(arguments.c, 0, arguments.n, "x");
    for (W& element : x) element *= alpha;
    operands.store_vector(arguments.c, 0, x, "x");
  });
}

// y = x
void copy(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    operands.store_vector(arguments.c, 0, operands.load_vector<W>(arguments.b, 0, arguments.n, "x"), "y");
  });
}

void swap(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    const auto x = operands.load_vector<W>(arguments.b, 0, arguments.n, "x");
    const auto y = operands.load_vector<W>(arguments.c, 0, arguments.n, "y");
    operands.store_vector(arguments.b, 0, y, "x");
    operands.store_vector(arguments.c, 0, x, "y");
  });
}

// d = x . y; hermitian: of the conjugate of x
void dot(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    const auto x = operands.load_vector<W>(arguments.b, 0, arguments.n, "x");
    const auto y = operands.load_vector<W>(arguments.c, 0, arguments.n, "y");
    Wide<W> sum{};
    for (std::size_t index = 0; index < x.size(); ++index) {
      sum += static_cast<Wide<W>>(arguments.hermitian ? conjugate(x[index]) : x[index]) *
             static_cast<Wide<W>>(y[index]);
    }
    operands.store_one(arguments.d, static_cast<W>(sum), "result");
  });
}

// d = the Euclidean norm of x
void norm(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    RealOf<Wide<W>> sum = 0;
    for (const W element : operands.load_vector<W>(arguments.b, 0, arguments.n, "x")) {
      sum += std::norm(static_cast<Wide<W>>(element));
    }
    operands.store_one(arguments.d, static_cast<RealOf<W>>(std::sqrt(sum)), "result");
  });
}

void absolute_sum(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    RealOf<Wide<W>> sum = 0;
    for (const W element : operands.load_vector<W>(arguments.b, 0, arguments.n, "x")) {
      sum += static_cast<RealOf<Wide<W>>>(magnitude(element));
    }
    operands.store_one(arguments.d, static_cast<RealOf<W>>(sum), "result");
  });
}

// d = the number, from 1, of the first element of largest (mode 0) or smallest magnitude; mode 2, 3: as 64
// bits
void extreme(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    const bool smallest = (arguments.mode & 1) != 0;
    const auto x = operands.load_vector<W>(arguments.b, 0, arguments.n, "x");
    std::int64_t best = 0;
    for (std::size_t index = 1; index < x.size(); ++index) {
      const auto held = magnitude(x[static_cast<std::size_t>(best)]);
      const auto found = magnitude(x[index]);
      if (smallest ? found < held : found > held) best = static_cast<std::int64_t>(index);
    }
    if (!x.empty()) ++best;
    if ((arguments.mode & 2) != 0) {
      *memory.write<std::int64_t>(arguments.d.address, 1, "result") = best;
    } else {
      *memory.write<std::int32_t>(arguments.d.address, 1, "result") = static_cast<std::int32_t>(best);
    }
  });
}

// x, y = c x + s y, c y - conj(s) x, with c = alpha and s = beta
void rotate(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    const auto c = operands.scalar<RealOf<W>>(arguments.alpha, "c");
    const W s = operands.scalar<W>(arguments.beta, "s");
    auto x = operands.load_vector<W>(arguments.b, 0, arguments.n, "x");
    auto y = operands.load_vector<W>(arguments.c, 0, arguments.n, "y");
    for (std::size_t index = 0; index < x.size(); ++index) {
      const W before = x[index];
      x[index] = c * before + s * y[index];
      y[index] = c * y[index] - conjugate(s) * before;
    }
    operands.store_vector(arguments.b, 0, x, "x");
    operands.store_vector(arguments.c, 0, y, "y");
  });
}

// The Givens rotation of (a, b) = (A, B): R, z, c, s as the reference BLAS defines them. C is c, D is s.
void make_rotation(const Arguments& arguments, Memory& memory) {
  with_type(arguments, memory, static_cast<double>(arguments.n), [&]<class W>(Operands& operands, W) {
    if constexpr (!IsComplex<W>::value) {
      const W a = operands.load_vector<W>(arguments.a, 0, 1, "a")[0];
      const W b = operands.load_vector<W>(arguments.b, 0, 1, "b")[0];
      W r = 0, z = 0, c = 1, s = 0;
      if (a != 0 || b != 0) {
        const W larger = std::abs(a) > std::abs(b) ? a : b;
        r = std::copysign(std::hypot(a, b), larger);
        c = a / r;
        s = b / r;
        z = std::abs(a) > std::abs(b) ? s : c != 0 ? 1 / c : W{1};
      }
      operands.store_one(arguments.a, r, "a");
      operands.store_one(arguments.b, z, "b");
      operands.store_one(arguments.c, c, "c");
      operands.store_one(arguments.d, s, "s");
    } else {
      throw std::logic_error("a complex rotation");
    }
  });
}

}  // namespace refrain::simgpu::blas
