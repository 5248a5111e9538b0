// Integer arithmetic, logic, shifts and bit fields against arithmetic in 128 bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "operation.hpp"

namespace refrain::conformance {
namespace {

__extension__ typedef __int128 Wide;

// A number of a type, and back.
Wide number(std::uint64_t bits, const std::string& type) {
  const unsigned width = bits_of(type);
  const Wide whole = static_cast<Wide>(1) << width;
  Wide value = static_cast<Wide>(bits) & (whole - 1);
  if (is_signed(type) && value >= whole / 2) value -= whole;
  return value;
}
std::uint64_t bits_in(Wide value, unsigned width) {
  return static_cast<std::uint64_t>(value) & (width == 64 ? ~0ull : (1ull << width) - 1);
}
Wide clamped(Wide value, const std::string& type) {
  const Wide whole = static_cast<Wide>(1) << bits_of(type);
  const Wide low = is_signed(type) ? -whole / 2 : 0, high = is_signed(type) ? whole / 2 - 1 : whole - 1;
  return std::clamp(value, low, high);
}
// Rounded down, also where it is negative.
Wide halved(Wide value, unsigned times) {
  return value >> times;
}

using Numbers = std::array<Wide, 4>;
Operation plain(const std::string& d, const std::vector<std::string>& sources,
                const std::function<Wide(const Numbers&)>& f) {
  Operation operation;
  operation.destination = d;
  operation.sources = sources;
  operation.operands = "%d";
  for (std::size_t i = 0; i < sources.size(); ++i) operation.operands += ", %a" + std::to_string(i);
  operation.reference = [=](const Inputs& in) {
    Numbers x{};
    for (std::size_t i = 0; i < sources.size(); ++i) x[i] = number(in.v[i], sources[i]);
    return Output{bits_in(f(x), bits_of(d)), false, false};
  };
  return operation;
}

bool is_integer(const Words& words) {
  for (std::size_t i = 0; i < words.type_count(); ++i) {
    if (std::string("usb").find(words.type(i)[0]) == std::string::npos || words.type(i).starts_with("bf"))
      return false;
  }
  return words.type_count() > 0 && words.type() != "pred";
}

std::string doubled(const std::string& type) {
  return type[0] + std::to_string(bits_of(type) * 2);
}

Operation make_sum(const std::string&, const Words& w) {
  const std::string t = w.type();
  const bool subtracts = w.opcode() == "sub";
  if (t.ends_with("x2")) {
    return plain("b32", {"b32", "b32"}, [](const Numbers& x) {
      return ((x[0] + x[1]) & 0xffff) + ((halved(x[0], 16) + halved(x[1], 16)) & 0xffff) * 65536;
    });
  }
  const bool clamps = w.has("sat");
  return plain(t, {t, t}, [=](const Numbers& x) {
    const Wide r = subtracts ? x[0] - x[1] : x[0] + x[1];
    return clamps ? clamped(r, t) : r;
  });
}

Operation make_product(const std::string&, const Words& w) {
  const std::string t = w.type();
  const unsigned width = bits_of(t);
  const bool adds = w.opcode().starts_with("mad");
  const std::string d = w.has("wide") ? doubled(t) : t;
  const bool high = w.has("hi"), clamps = w.has("sat");
  std::vector<std::string> sources{t, t};
  if (adds) sources.push_back(d);
  return plain(d, sources, [=](const Numbers& x) {
    // The upper half of 128 bits: of unsigned numbers the product may not fit a signed 128-bit one.
    __extension__ typedef unsigned __int128 Unsigned;
    const auto product = static_cast<Unsigned>(x[0]) * static_cast<Unsigned>(x[1]);
    const Wide upper =
        is_signed(t) ? static_cast<Wide>(product) >> width : static_cast<Wide>(product >> width);
    const Wide r = (high ? upper : static_cast<Wide>(product)) + (adds ? x[2] : 0);
    return clamps ? clamped(r, t) : r;
  });
}

Operation make_product24(const std::string&, const Words& w) {
  const std::string t = w.type();
  const bool adds = w.opcode() == "mad24", high = w.has("hi"), clamps = w.has("sat");
  std::vector<std::string> sources{t, t};
  if (adds) sources.push_back(t);
  return plain(t, sources, [=](const Numbers& x) {
    const auto low24 = [&](Wide v) {
      const Wide low = v & 0xffffff;
      return is_signed(t) && low >= 0x800000 ? low - 0x1000000 : low;
    };
    const Wide product = low24(x[0]) * low24(x[1]);
    const Wide part = number(bits_in(high ? halved(product, 16) : product, 32), t);
    const Wide r = part + (adds ? x[2] : 0);
    return clamps ? clamped(r, t) : r;
  });
}

Operation make_binary(const std::string&, const Words& w) {
  const std::string t = w.type(), op = w.opcode();
  const bool relu = w.has("relu");
  if (t.ends_with("x2")) {
    const std::string half = t.substr(0, 3);
    return plain("b32", {"b32", "b32"}, [=](const Numbers& x) {
      Wide result = 0;
      for (unsigned shift = 0; shift < 32; shift += 16) {
        const Wide a = number(static_cast<std::uint64_t>(x[0]) >> shift, half);
        const Wide b = number(static_cast<std::uint64_t>(x[1]) >> shift, half);
        const Wide r = op == "min" ? std::min(a, b) : std::max(a, b);
        result += static_cast<Wide>(bits_in(relu ? std::max<Wide>(r, 0) : r, 16)) << shift;
      }
      return result;
    });
  }
  return plain(t, {t, t}, [=](const Numbers& x) -> Wide {
    const Wide a = x[0], b = x[1];
    // By zero: what this device gives; PTX leaves it open.
    if (op == "div") return b == 0 ? -1 : a / b;
    if (op == "rem") return b == 0 ? a : a % b;
    if (op == "and") return a & b;
    if (op == "or") return a | b;
    if (op == "xor") return a ^ b;
    const Wide r = op == "min" ? std::min(a, b) : std::max(a, b);
    return relu ? std::max<Wide>(r, 0) : r;
  });
}

Operation make_unary(const std::string&, const Words& w) {
  const std::string t = w.type(), op = w.opcode();
  const unsigned width = bits_of(t);
  const bool counts = op == "popc" || op == "clz" || op == "bfind";
  const bool shift = w.has("shiftamt");
  return plain(counts ? "u32" : t, {t}, [=](const Numbers& x) -> Wide {
    const Wide a = x[0];
    if (op == "abs") return a < 0 ? -a : a;
    if (op == "neg") return -a;
    if (op == "not") return ~a;
    if (op == "cnot") return a == 0 ? 1 : 0;
    const auto bit = [&](unsigned i) { return (a >> i & 1) != 0; };
    if (op == "popc") {
      Wide n = 0;
      for (unsigned i = 0; i < width; ++i) n += bit(i);
      return n;
    }
    if (op == "clz") {
      unsigned n = 0;
      while (n < width && !bit(width - 1 - n)) ++n;
      return n;
    }
    if (op == "bfind") {
      for (unsigned i = width; i-- > 0;) {
        if (bit(i) != (a < 0)) return shift ? width - 1 - i : i;
      }
      return -1;
    }
    Wide r = 0;  // brev
    for (unsigned i = 0; i < width; ++i) r += static_cast<Wide>(bit(i)) << (width - 1 - i);
    return r;
  });
}

Operation make_shift(const std::string&, const Words& w) {
  const std::string t = w.type();
  const unsigned width = bits_of(t);
  const bool left = w.opcode() == "shl";
  return plain(t, {t, "u32"}, [=](const Numbers& x) -> Wide {
    const auto n = static_cast<unsigned>(std::min<Wide>(x[1], width));
    if (left) return n == width ? 0 : x[0] << n;
    return halved(x[0], n);
  });
}

Operation make_field(const std::string&, const Words& w) {
  const std::string t = w.type();
  const int width = static_cast<int>(bits_of(t));
  if (w.opcode() == "bfe") {
    return plain(t, {t, "u32", "u32"}, [=](const Numbers& x) {
      const int position = static_cast<int>(x[1] & 0xff), length = static_cast<int>(x[2] & 0xff);
      const auto bit = [&](int i) { return (x[0] >> std::min(i, width - 1) & 1) != 0; };
      const bool sign = is_signed(t) && length != 0 && bit(position + length - 1);
      Wide r = 0;
      for (int i = 0; i < width; ++i) {
        const bool inside = i < length && position + i < width;
        if (inside ? bit(position + i) : sign) r |= static_cast<Wide>(1) << i;
      }
      return r;
    });
  }
  return plain(t, {t, t, "u32", "u32"}, [=](const Numbers& x) {
    const int position = static_cast<int>(x[2] & 0xff), length = static_cast<int>(x[3] & 0xff);
    Wide r = x[1];
    for (int i = 0; i < length && position + i < width; ++i) {
      const Wide place = static_cast<Wide>(1) << (position + i);
      r = (x[0] >> i & 1) != 0 ? r | place : r & ~place;
    }
    return r;
  });
}

Operation make_search(const std::string&, const Words&) {
  return plain("b32", {"b32", "b32", "s32"}, [](const Numbers& x) -> Wide {
    if (x[1] > 31) return -1;
    const auto bit = [&](Wide i) { return (x[0] >> static_cast<int>(i) & 1) != 0; };
    if (x[2] == 0) return bit(x[1]) ? x[1] : -1;
    Wide left = x[2] < 0 ? -x[2] : x[2];
    for (Wide at = x[1]; at >= 0 && at <= 31; at += x[2] < 0 ? -1 : 1) {
      if (bit(at) && --left == 0) return at;
    }
    return -1;
  });
}

Operation make_mask(const std::string&, const Words& w) {
  const bool wraps = w.has("wrap");
  if (w.opcode() == "bmsk") {
    return plain("b32", {"b32", "b32"}, [=](const Numbers& x) {
      const Wide from = wraps ? x[0] % 32 : x[0], count = wraps ? x[1] % 32 : x[1];
      Wide r = 0;
      for (Wide i = from; i < 32 && i < from + count; ++i) r |= static_cast<Wide>(1) << static_cast<int>(i);
      return r;
    });
  }
  const std::string t = w.type();
  return plain(t, {t, "u32"}, [=](const Numbers& x) -> Wide {
    const Wide count = wraps ? x[1] % 32 : x[1];
    if (count == 0) return 0;
    if (count >= 32) return x[0];
    const Wide whole = static_cast<Wide>(1) << static_cast<int>(count);
    const Wide low = x[0] & (whole - 1);
    return is_signed(t) && low >= whole / 2 ? low - whole : low;
  });
}

Operation make_dot(const std::string&, const Words& w) {
  const bool four = w.opcode() == "dp4a", high = w.has("hi");
  const std::string a_type = w.type(0), b_type = w.type(1);
  return plain("b32", {"b32", "b32", "b32"}, [=](const Numbers& x) {
    const auto a = static_cast<std::uint64_t>(x[0]), b = static_cast<std::uint64_t>(x[1]);
    Wide r = x[2];
    for (unsigned i = 0; i < (four ? 4u : 2u); ++i) {
      const Wide left = four ? number(a >> 8 * i, a_type.substr(0, 1) + "8")
                             : number(a >> 16 * i, a_type.substr(0, 1) + "16");
      const unsigned at = four ? i : high ? i + 2 : i;
      r += left * number(b >> 8 * at, b_type.substr(0, 1) + "8");
    }
    return r;
  });
}

Operation make_permutation(const std::string&, const Words& w) {
  const bool f4e = w.has("f4e"), b4e = w.has("b4e"), rc8 = w.has("rc8"), ecl = w.has("ecl"),
             ecr = w.has("ecr"), rc16 = w.has("rc16");
  return plain("b32", {"b32", "b32", "b32"}, [=](const Numbers& x) {
    const auto byte = [&](int i) { return (i < 4 ? x[0] >> 8 * i : x[1] >> 8 * (i - 4)) & 0xff; };
    const int n = static_cast<int>(x[2] & 3);
    Wide r = 0;
    for (int i = 0; i < 4; ++i) {
      Wide value;
      if (f4e) {
        value = byte(n + i);
      } else if (b4e) {
        value = byte((n + 8 - i) % 8);
      } else if (rc8) {
        value = byte(n);
      } else if (ecl) {
        value = byte(std::max(i, n));
      } else if (ecr) {
        value = byte(std::min(i, n));
      } else if (rc16) {
        value = byte(n % 2 * 2 + i % 2);
      } else {
        const auto selector = static_cast<int>(x[2] >> 4 * i & 15);
        value = byte(selector & 7);
        if (selector >= 8) value = value >= 128 ? 255 : 0;
      }
      r |= value << 8 * i;
    }
    return r;
  });
}

Operation make_funnel(const std::string&, const Words& w) {
  const bool left = w.has("l"), wraps = w.has("wrap");
  return plain("b32", {"b32", "b32", "u32"}, [=](const Numbers& x) {
    const Wide n = wraps ? x[2] % 32 : std::min<Wide>(x[2], 32);
    const Wide both = x[1] * (static_cast<Wide>(1) << 32) + x[0];
    return left ? (both << static_cast<int>(n)) >> 32 : both >> static_cast<int>(n);
  });
}

// Carries: set from %c before, read back into %p after.
Operation make_chain(const std::string&, const Words& w) {
  const std::string t = w.type(), op = w.opcode();
  const bool takes = op.ends_with("c"), gives = w.has("cc"), product = op.starts_with("mad"),
             high = w.has("hi");
  const unsigned width = bits_of(t);
  std::vector<std::string> sources{t, t};
  if (product) sources.push_back(t);
  Operation operation = plain(t, sources, {});
  operation.before = "selp.u32 %t0, 1, 0, %c; add.cc.u32 %t1, %t0, 0xffffffff;\n";
  operation.after = "addc.u32 %t2, 0, 0; setp.ne.u32 %p, %t2, 0;\n";
  operation.reference = [=](const Inputs& in) {
    __extension__ typedef unsigned __int128 Unsigned;
    const std::string u = "u" + std::to_string(width);
    const Wide a = number(in.v[0], u), b = number(in.v[1], u), carry = takes && in.c ? 1 : 0;
    Wide r;
    if (product) {
      const auto all = static_cast<Unsigned>(number(in.v[0], t)) * static_cast<Unsigned>(number(in.v[1], t));
      r = number(static_cast<std::uint64_t>(high ? all >> width : all), u) + number(in.v[2], u) + carry;
    } else {
      r = op.starts_with("add") ? a + b + carry : a - b - carry;
    }
    const bool out = r < 0 || r >> width != 0;
    return Output{bits_in(r, width), gives ? out : in.c, false};
  };
  return operation;
}

Operation make_logic3(const std::string& text, const Words& w) {
  Operation operation;
  const unsigned table = static_cast<unsigned>(seed_of(text) % 256) | 2;
  const bool with_or = w.has("or"), with_predicate = with_or || w.has("and");
  operation.destination = "b32";
  operation.sources = {"b32", "b32", "b32"};
  operation.operands = (with_predicate ? "%d|%p, %a0, %a1, %a2, " : "%d, %a0, %a1, %a2, ") +
                       std::to_string(table) + (with_predicate ? ", %c" : "");
  operation.reference = [=](const Inputs& in) {
    std::uint64_t r = 0;
    for (unsigned i = 0; i < 32; ++i) {
      const unsigned row = (in.v[0] >> i & 1) * 4 + (in.v[1] >> i & 1) * 2 + (in.v[2] >> i & 1);
      r |= static_cast<std::uint64_t>(table >> row & 1) << i;
    }
    const bool p = with_predicate && (with_or ? r != 0 || in.c : r != 0 && in.c);
    return Output{r, p, false};
  };
  return operation;
}

bool chains(const Words& w) {
  return w.has("cc") || w.opcode() == "addc" || w.opcode() == "subc" || w.opcode() == "madc";
}

TEST(integer, sums_products_and_extremes) {
  const auto wanted = [](const Words& w) { return is_integer(w) && !chains(w); };
  expect_all(operations_of({"add", "sub"}, wanted, make_sum));
  expect_all(operations_of({"mul", "mad"}, wanted, make_product));
  expect_all(operations_of({"mul24", "mad24"}, wanted, make_product24));
  expect_all(operations_of({"div", "rem", "min", "max", "and", "or", "xor"}, wanted, make_binary));
  expect_all(operations_of({"sad"}, wanted, [](const std::string&, const Words& w) {
    const std::string t = w.type();
    return plain(t, {t, t, t},
                 [](const Numbers& x) { return x[2] + (x[0] < x[1] ? x[1] - x[0] : x[0] - x[1]); });
  }));
}

TEST(integer, carry_chains) {
  expect_all(operations_of({"add", "sub", "addc", "subc", "mad", "madc"}, chains, make_chain));
}

TEST(integer, bits) {
  expect_all(
      operations_of({"abs", "neg", "not", "cnot", "popc", "clz", "bfind", "brev"}, is_integer, make_unary));
  expect_all(operations_of({"shl", "shr"}, is_integer, make_shift));
  expect_all(operations_of({"bfe", "bfi"}, is_integer, make_field));
  expect_all(operations_of({"fns"}, is_integer, make_search), 1024);
  expect_all(operations_of({"bmsk", "szext"}, is_integer, make_mask), 1024);
  expect_all(operations_of({"dp4a", "dp2a"}, is_integer, make_dot));
  expect_all(operations_of({"prmt"}, is_integer, make_permutation));
  expect_all(operations_of({"shf"}, is_integer, make_funnel));
  expect_all(operations_of({"lop3"}, is_integer, make_logic3));
}

TEST(integer, every_table_of_lop3) {
  std::vector<Operation> operations;
  for (unsigned table = 0; table < 256; ++table) {
    Operation operation = make_logic3("", Words("lop3.b32"));
    operation.text = "lop3.b32";
    operation.operands = "%d, %a0, %a1, %a2, " + std::to_string(table);
    operation.reference = [table](const Inputs& in) {
      std::uint64_t r = 0;
      for (unsigned i = 0; i < 32; ++i) {
        const unsigned row = (in.v[0] >> i & 1) * 4 + (in.v[1] >> i & 1) * 2 + (in.v[2] >> i & 1);
        r |= static_cast<std::uint64_t>(table >> row & 1) << i;
      }
      return Output{r, false, false};
    };
    operations.push_back(operation);
  }
  expect_all(operations, 16);
}

TEST(predicates, logic) {
  expect_all(operations_of(
      {"and", "or", "xor", "not"}, [](const Words& w) { return w.type() == "pred"; },
      [](const std::string&, const Words& w) {
        Operation operation;
        const std::string op = w.opcode();
        operation.sources = {"b32"};
        operation.before = "setp.gt.s32 %q, %a0, 0;\n";
        operation.operands = op == "not" ? "%p, %c" : "%p, %c, %q";
        operation.reference = [=](const Inputs& in) {
          const bool q = static_cast<std::int32_t>(in.v[0]) > 0;
          const bool p = op == "and" ? in.c && q : op == "or" ? in.c || q : op == "xor" ? in.c != q : !in.c;
          return Output{0, p, q};
        };
        return operation;
      }));
}

}  // namespace
}  // namespace refrain::conformance
