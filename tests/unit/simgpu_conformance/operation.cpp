// See operation.hpp. Kernels of many operations are put into one module: loading one for each would take
// longer than running it.
#include "operation.hpp"

#include <algorithm>
#include <random>

#include "simgpu/exec/forms.hpp"
#include "tests/unit/simgpu_exec/harness.hpp"

namespace refrain::conformance {
namespace {

constexpr std::size_t kKernelsInModule = 128;
constexpr std::uint32_t kThreads = 64;

Tally& counts() {
  static Tally the_tally;
  return the_tally;
}

std::string kernel_text(const Operation& operation, std::size_t number) {
  std::string text = fmt::format(
      ".visible .entry k{}(.param .u64 in, .param .u64 out, .param .u32 n) {{\n"
      ".reg .pred %p; .reg .pred %q; .reg .pred %c; .reg .pred %o; .reg .b32 %t<4>; .reg .b32 %r<9>; .reg "
      ".b64 %x<5>;\n",
      number);
  if (!operation.destination.empty()) text += fmt::format(".reg .b{} %d;\n", bits_of(operation.destination));
  for (std::size_t i = 0; i < operation.sources.size(); ++i) {
    text += fmt::format(".reg .b{} %a{};\n", std::max(bits_of(operation.sources[i]), 16u), i);
  }
  text +=
      "ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
      "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %o, %r5, %r1; @%o ret;\n"
      "ld.param.u64 %x1, [in]; ld.param.u64 %x2, [out]; mul.wide.u32 %x3, %r5, 40; add.u64 %x1, %x1, %x3;\n"
      "mul.wide.u32 %x3, %r5, 16; add.u64 %x2, %x2, %x3;\n";
  for (std::size_t i = 0; i < operation.sources.size(); ++i) {
    text += fmt::format("ld.global.b{} %a{}, [%x1+{}];\n", std::max(bits_of(operation.sources[i]), 16u), i,
                        i * 8);
  }
  text +=
      "ld.global.u32 %r6, [%x1+32]; setp.ne.u32 %c, %r6, 0; setp.ne.u32 %p, %r6, %r6; setp.ne.u32 %q, %r6, "
      "%r6;\n";
  text += operation.before + operation.text + " " + operation.operands + ";\n" + operation.after;
  if (!operation.destination.empty())
    text += fmt::format("st.global.b{} [%x2], %d;\n", bits_of(operation.destination));
  text +=
      "selp.u32 %r7, 1, 0, %p; selp.u32 %r8, 2, 0, %q; or.b32 %r7, %r7, %r8; st.global.u32 [%x2+8], %r7; "
      "ret; }\n";
  return text;
}

struct Row {
  std::uint64_t values[4];
  std::uint64_t c;
};
struct Result {
  std::uint64_t d;
  std::uint64_t predicates;
};

std::vector<Row> rows_of(const Operation& operation, std::size_t count) {
  std::vector<Row> rows(count);
  // The same seed gives the same operands in every run; each form has its own.
  std::uint64_t seed = seed_of(operation.text);
  for (Row& row : rows) {
    for (std::size_t i = 0; i < operation.sources.size(); ++i)
      row.values[i] = sample(operation.sources[i], seed++);
    row.c = (seed * 0x9e3779b97f4a7c15 >> 40) & 1;
  }
  return rows;
}

void compare(const Operation& operation, const std::vector<Row>& rows, const std::vector<Result>& results) {
  int shown = 0;
  for (std::size_t i = 0; i < rows.size() && shown < 3; ++i) {
    const Row& row = rows[i];
    const Inputs in{{row.values[0], row.values[1], row.values[2], row.values[3]}, row.c != 0};
    Output got{results[i].d, (results[i].predicates & 1) != 0, (results[i].predicates & 2) != 0};
    std::string wrong;
    if (operation.check) {
      wrong = operation.check(in, got);
    } else {
      const Output want = operation.reference(in);
      if (want.d != got.d || want.p != got.p || want.q != got.q) {
        wrong = fmt::format("{:#x} {} {} expected", want.d, want.p, want.q);
      }
    }
    if (wrong.empty()) continue;
    ++shown;
    ADD_FAILURE() << fmt::format("{} of {:#x}, {:#x}, {:#x}, {:#x}; {}: {:#x} {} {} came out, {}",
                                 operation.text, in.v[0], in.v[1], in.v[2], in.v[3], in.c, got.d, got.p,
                                 got.q, wrong);
  }
}

}  // namespace

Words::Words(const std::string& text) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (begin == 0) {
      opcode_ = word;
    } else {
      words_.insert(word);
      if (bits_of(word) != 0) types_.push_back(word);
    }
    begin = end + 1;
  }
}

unsigned bits_of(const std::string& type) {
  if (type == "pred") return 1;
  if (type == "e4m3x2" || type == "e5m2x2" || type == "bf16") return 16;
  if (type == "f16x2" || type == "bf16x2" || type == "u16x2" || type == "s16x2" || type == "tf32") return 32;
  if (type == "f32x2") return 64;
  if (type.size() < 2 || type.size() > 4 || std::string("busf").find(type[0]) == std::string::npos) return 0;
  const std::string digits = type.substr(1);
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return 0;
  return static_cast<unsigned>(std::stoul(digits));
}

bool is_signed(const std::string& type) {
  return type[0] == 's';
}

namespace {

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::uint64_t sample_integer(unsigned bits, std::uint64_t r) {
  const std::uint64_t keep = bits == 64 ? ~0ull : (1ull << bits) - 1;
  const std::uint64_t top = 1ull << (bits - 1);
  const std::uint64_t edges[] = {0,       1,    2,          keep,     keep - 1,   top,          top - 1,
                                 top + 1, bits, bits - 1,   bits + 1, bits / 2,   31,           32,
                                 33,      0x7f, 0x80,       0xff,     0x100,      0x7fff,       0x8000,
                                 5,       7,    255 + bits, top / 2,  keep / 255, keep / 3 * 2, 24};
  switch (r & 3) {
    case 0: return edges[(r >> 8) % std::size(edges)] & keep;
    case 1: return (r >> 8) % 70 & keep;
    case 2: return mixed(r) >> (r >> 8) % bits & keep;
    default: return mixed(r) & keep;
  }
}

std::uint64_t sample_float(int exponent_bits, int mantissa_bits, std::uint64_t r) {
  const int bits = 1 + exponent_bits + mantissa_bits;
  const std::uint64_t keep = bits == 64 ? ~0ull : (1ull << bits) - 1;
  const std::uint64_t sign = 1ull << (bits - 1), unit = 1ull << mantissa_bits;
  const std::uint64_t infinity = ((1ull << exponent_bits) - 1) << mantissa_bits;
  const std::uint64_t one = ((1ull << (exponent_bits - 1)) - 1) << mantissa_bits;
  const std::uint64_t edges[] = {0,
                                 1,
                                 2,
                                 unit - 1,
                                 unit,
                                 unit + 1,
                                 one,
                                 one + 1,
                                 one - 1,
                                 one + unit,
                                 infinity - 1,
                                 infinity,
                                 infinity + 1,
                                 infinity + unit / 2,
                                 sign - 1,
                                 unit * 2,
                                 one - unit,
                                 infinity - unit,
                                 one + unit / 2,
                                 one - unit - 1,
                                 one + unit + unit / 2,
                                 one + 2 * unit + unit / 4,
                                 3,
                                 one + 5 * unit + 1};
  const std::uint64_t with_sign = (r >> 60 & 1) != 0 ? sign : 0;
  const std::uint64_t fraction = mixed(r) & (unit - 1);
  switch (r & 7) {
    case 0:
    case 1: return (edges[(r >> 8) % std::size(edges)] & (sign - 1)) | with_sign;
    case 2: return mixed(r) & keep;
    case 3:
      return (fraction >> (r >> 8) % static_cast<unsigned>(mantissa_bits + 1)) | with_sign;  // subnormal
    default: {
      // Near one, with few bits set: sums meet halfway cases.
      const auto shift = static_cast<std::int64_t>((r >> 8) % 25) - 12;
      const std::uint64_t low = ~0ull << (r >> 16) % static_cast<unsigned>(mantissa_bits + 1);
      const auto exponent = static_cast<std::int64_t>(one >> mantissa_bits) + shift;
      if (exponent < 0 || exponent > (1 << exponent_bits) - 2) return with_sign | one | (fraction & low);
      return with_sign | static_cast<std::uint64_t>(exponent) << mantissa_bits | (fraction & low);
    }
  }
}

}  // namespace

std::uint64_t sample(const std::string& type, std::uint64_t seed) {
  const std::uint64_t r = mixed(seed * 0x9e3779b97f4a7c15 + 1);
  if (type == "f16") return sample_float(5, 10, r);
  if (type == "bf16") return sample_float(8, 7, r);
  if (type == "f16x2") return sample_float(5, 10, r) << 16 | sample_float(5, 10, mixed(r));
  if (type == "bf16x2") return sample_float(8, 7, r) << 16 | sample_float(8, 7, mixed(r));
  if (type == "f32") return sample_float(8, 23, r);
  if (type == "f32x2") return sample_float(8, 23, r) << 32 | sample_float(8, 23, mixed(r));
  if (type == "f64") return sample_float(11, 52, r);
  if (type == "u16x2" || type == "s16x2") return sample_integer(16, r) << 16 | sample_integer(16, mixed(r));
  if (type == "e4m3x2" || type == "e5m2x2") return mixed(r) & 0xffff;
  // Only the lower bits count where a register is wider than its type.
  if (bits_of(type) == 8) return (mixed(r) & 0xff00) | sample_integer(8, r);
  return sample_integer(bits_of(type), r);
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

const Tally& tally() {
  return counts();
}

void expect_all(const std::vector<Operation>& operations, std::size_t count) {
  static std::set<std::string> seen;
  for (std::size_t first = 0; first < operations.size(); first += kKernelsInModule) {
    const std::size_t last = std::min(first + kKernelsInModule, operations.size());
    std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n";
    for (std::size_t i = first; i < last; ++i) text += kernel_text(operations[i], i);
    simgpu::TestDevice device;
    try {
      device.load(text);
    } catch (const simgpu::LoadError& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    const auto out = device.upload(std::vector<Result>(count));
    for (std::size_t i = first; i < last; ++i) {
      const auto rows = rows_of(operations[i], count);
      const auto in = device.upload(rows);
      std::memset(device.memory().translate(out, count * sizeof(Result), simgpu::Access::kReadWrite), 0,
                  count * sizeof(Result));
      const auto blocks = static_cast<std::uint32_t>((count + kThreads - 1) / kThreads);
      device.launch("k" + std::to_string(i), simgpu::shape_of(blocks, kThreads), in, out,
                    static_cast<std::uint32_t>(count));
      compare(operations[i], rows, device.download<Result>(out, count));
      ASSERT_EQ(device.memory().free(in), simgpu::MemoryError::kNone);
      ++counts().cases;
      counts().operands += count;
      if (seen.insert(operations[i].text).second) ++counts().instructions;
    }
  }
}

std::vector<Operation> operations_of(const std::vector<std::string>& opcodes,
                                     const std::function<bool(const Words&)>& wanted, const Maker& make) {
  std::vector<Operation> operations;
  for (const std::string& opcode : opcodes) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(ptx::Opcode::kUnknown); ++i) {
      if (ptx::name_of(static_cast<ptx::Opcode>(i)) != opcode) continue;
      for (const std::string& text : simgpu::all_forms(static_cast<ptx::Opcode>(i))) {
        const Words words(text);
        if (!wanted(words)) continue;
        Operation operation = make(text, words);
        operation.text = text;
        if (!operation.reference && !operation.check) {
          ADD_FAILURE() << "no reference for " << text;
          continue;
        }
        operations.push_back(std::move(operation));
      }
    }
  }
  return operations;
}

}  // namespace refrain::conformance
