// Products of matrices held by a warp, and transposition. Sums are formed in f32 (or s32, f64) in the order
// of k, starting from the addend; products of f16, bf16 and tf32 are exact in f32 unless they underflow; an
// f16 result is rounded once, at the end. Op::list: the member mask, then the registers of d, a, b, c.

constexpr std::uint32_t kMostRows = 32, kMostColumns = 32, kMostDepth = 32;

template <class T>
struct Matrices {
  T a[kMostRows][kMostDepth];
  T b[kMostDepth][kMostColumns];
  T sum[kMostRows][kMostColumns];
};

// Calls f(lane, element, bits of the element's register, shift of the element, place) for a fragment.
template <class F>
inline void for_fragment(const MatrixProduct& product, Fragment f, Element element, F visit) {
  const std::uint32_t count = product.shape.elements(f) / kLanes;
  const std::uint32_t per_reg = per_register(element);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      const Place place = product.is_wmma ? place_in_wmma(product.shape, f, lane, i)
                                          : place_in_mma(product.shape, f, per_reg, lane, i);
      visit(lane, i / per_reg, i % per_reg * (32 / per_reg), place);
    }
  }
}

inline float float_element(std::uint32_t word, std::uint32_t shift, Element element) {
  switch (element) {
    case Element::kF16: return AsHalf::widen(word >> shift & 0xffff);
    case Element::kBf16: return AsBrain::widen(word >> shift & 0xffff);
    case Element::kTf32: return std::bit_cast<float>(word & 0xffffe000);  // the others are not looked at
    default: return std::bit_cast<float>(word);
  }
}

inline std::int64_t integer_element(std::uint32_t word, std::uint32_t shift, Element element) {
  switch (element) {
    case Element::kS8: return static_cast<std::int8_t>(word >> shift);
    case Element::kU8: return static_cast<std::uint8_t>(word >> shift);
    default: return static_cast<std::int32_t>(word);
  }
}

struct ProductRegisters {
  const std::uint32_t *d, *a, *b, *c;

  ProductRegisters(const Warp& w, const Op& op, const MatrixProduct& p) {
    d = w.frame->code->lists.data() + op.list + 1;
    a = d + fragment_registers(p.shape, Fragment::kSum, p.d, p.is_wmma);
    b = a + fragment_registers(p.shape, Fragment::kA, p.a, p.is_wmma);
    c = b + fragment_registers(p.shape, Fragment::kB, p.b, p.is_wmma);
  }
};

inline void product_of_floats(Warp& w, const Op& op, LaneMask) {
  const MatrixProduct p = MatrixProduct::unpacked(op.target);
  const ProductRegisters regs(w, op, p);
  Matrices<float> x;
  for_fragment(p, Fragment::kA, p.a,
               [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t shift, Place at) {
                 x.a[at.row][at.column] = float_element(w.at<std::uint32_t>(regs.a[reg])[lane], shift, p.a);
               });
  for_fragment(p, Fragment::kB, p.b,
               [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t shift, Place at) {
                 x.b[at.row][at.column] = float_element(w.at<std::uint32_t>(regs.b[reg])[lane], shift, p.b);
               });
  for_fragment(p, Fragment::kSum, p.c,
               [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t shift, Place at) {
                 x.sum[at.row][at.column] = float_element(w.at<std::uint32_t>(regs.c[reg])[lane], shift, p.c);
               });
  for (std::uint32_t i = 0; i < p.shape.m; ++i) {
    float* sum = x.sum[i];
    for (std::uint32_t k = 0; k < p.shape.k; ++k) {
      const float factor = x.a[i][k];
      const float* row = x.b[k];
      for (std::uint32_t j = 0; j < p.shape.n; ++j) sum[j] += factor * row[j];
    }
  }
  for_fragment(p, Fragment::kSum, p.d,
               [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t shift, Place at) {
                 std::uint32_t& d = w.at<std::uint32_t>(regs.d[reg])[lane];
                 const float value = x.sum[at.row][at.column];
                 if (p.d == Element::kF16) {
                   d = (d & ~(0xffffu << shift)) | AsHalf::narrow(value) << shift;
                 } else {
                   d = out32<false, false>(value);
                 }
               });
}

inline void product_of_integers(Warp& w, const Op& op, LaneMask) {
  const MatrixProduct p = MatrixProduct::unpacked(op.target);
  const ProductRegisters regs(w, op, p);
  Matrices<std::int64_t> x;
  const auto gather = [&](Fragment f, Element element, const std::uint32_t* from, auto& to) {
    for_fragment(p, f, element, [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t shift, Place at) {
      to[at.row][at.column] = integer_element(w.at<std::uint32_t>(from[reg])[lane], shift, element);
    });
  };
  gather(Fragment::kA, p.a, regs.a, x.a);
  gather(Fragment::kB, p.b, regs.b, x.b);
  gather(Fragment::kSum, p.c, regs.c, x.sum);
  for (std::uint32_t i = 0; i < p.shape.m; ++i) {
    for (std::uint32_t k = 0; k < p.shape.k; ++k) {
      for (std::uint32_t j = 0; j < p.shape.n; ++j) x.sum[i][j] += x.a[i][k] * x.b[k][j];
    }
  }
  for_fragment(p, Fragment::kSum, p.d, [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t, Place at) {
    std::int64_t value = x.sum[at.row][at.column];
    if (p.clamps) {
      value = std::min<std::int64_t>(value, std::numeric_limits<std::int32_t>::max());
      value = std::max<std::int64_t>(value, std::numeric_limits<std::int32_t>::min());
    }
    w.at<std::uint32_t>(regs.d[reg])[lane] = static_cast<std::uint32_t>(value);
  });
}

// In f64 products and sums are fused.
inline void product_of_doubles(Warp& w, const Op& op, LaneMask) {
  const MatrixProduct p = MatrixProduct::unpacked(op.target);
  const ProductRegisters regs(w, op, p);
  Matrices<std::uint64_t> x;
  const auto gather = [&](Fragment f, const std::uint32_t* from, auto& to) {
    for_fragment(p, f, Element::kF64, [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t, Place at) {
      to[at.row][at.column] = w.at<std::uint64_t>(from[reg])[lane];
    });
  };
  gather(Fragment::kA, regs.a, x.a);
  gather(Fragment::kB, regs.b, x.b);
  gather(Fragment::kSum, regs.c, x.sum);
  for (std::uint32_t i = 0; i < p.shape.m; ++i) {
    for (std::uint32_t k = 0; k < p.shape.k; ++k) {
      for (std::uint32_t j = 0; j < p.shape.n; ++j)
        x.sum[i][j] = F64::Fma::apply(x.a[i][k], x.b[k][j], x.sum[i][j]);
    }
  }
  for_fragment(p, Fragment::kSum, Element::kF64,
               [&](std::uint32_t lane, std::uint32_t reg, std::uint32_t, Place at) {
                 w.at<std::uint64_t>(regs.d[reg])[lane] = x.sum[at.row][at.column];
               });
}

// Op::imm is not free here: the rounding comes with the product.
inline void product_of_doubles_rounded(Warp& w, const Op& op, LaneMask mask) {
  Op with_rounding_bits = op;
  with_rounding_bits.imm = MatrixProduct::unpacked(op.target).rounding;
  rounded<product_of_doubles>(w, with_rounding_bits, mask);
}

inline Handler find_product(const MatrixProduct& p) {
  if (p.a == Element::kF64) return p.rounding == 0 ? product_of_doubles : product_of_doubles_rounded;
  return p.a == Element::kS8 || p.a == Element::kU8 ? product_of_integers : product_of_floats;
}

// An 8x8 matrix of 16-bit elements, a row of four registers for each four lanes.
inline void transpose(Warp& w, const Op& op, LaneMask mask) {
  std::uint32_t before[kLanes];
  std::memcpy(before, w.at<std::uint32_t>(op.a), sizeof before);
  const auto element = [&](std::uint32_t row, std::uint32_t column) {
    return before[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
  };
  for_lanes(mask, [&](std::uint32_t lane) {
    const std::uint32_t row = lane / 4, column = lane % 4 * 2;
    w.at<std::uint32_t>(op.d)[lane] = element(column, row) | element(column + 1, row) << 16;
  });
}
