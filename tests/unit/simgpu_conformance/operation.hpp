// One form of an instruction, what it is fed with, and what should come out; and the engine that runs many of
// them. The references are in the files of each family.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace refrain::conformance {

struct Inputs {
  std::array<std::uint64_t, 4> v{};
  bool c = false;  // the predicate operand, or the carry before
};
struct Output {
  std::uint64_t d = 0;
  bool p = false;
  bool q = false;
};

struct Operation {
  std::string text;                  // opcode and words
  std::string operands;              // with %d, %a0 … %a3, %p, %q (destinations) and %c (a predicate)
  std::vector<std::string> sources;  // types of %a0 …
  std::string destination;           // type of %d; empty: only predicates come out
  std::string before, after;         // more instructions, with the registers %t0 … %t3 of 32 bits
  std::function<Output(const Inputs&)> reference;
  // For what is not defined to the bit: what is wrong with an output, or nothing.
  std::function<std::string(const Inputs&, const Output&)> check;
};

// The words of an instruction.
class Words {
 public:
  explicit Words(const std::string& text);
  bool has(const std::string& word) const { return words_.contains(word); }
  const std::string& opcode() const { return opcode_; }
  const std::string& type(std::size_t i = 0) const { return types_.at(i); }
  std::size_t type_count() const { return types_.size(); }

 private:
  std::string opcode_;
  std::set<std::string> words_;
  std::vector<std::string> types_;
};

unsigned bits_of(const std::string& type);
bool is_signed(const std::string& type);

// Edge values of the type, then seeded random ones of several shapes.
std::uint64_t sample(const std::string& type, std::uint64_t seed);

// The same on every host.
std::uint64_t seed_of(const std::string& text);

struct Tally {
  std::size_t cases = 0;         // forms, each with operands of its own
  std::size_t operands = 0;      // sets of operands
  std::size_t instructions = 0;  // distinct opcode strings
};
const Tally& tally();

// Runs every operation on `count` sets of operands and reports what differs.
void expect_all(const std::vector<Operation>& operations, std::size_t count = 256);

// An operation for each form that the device has of an opcode. A form without a reference is a failure.
using Maker = std::function<Operation(const std::string& text, const Words& words)>;
std::vector<Operation> operations_of(const std::vector<std::string>& opcodes,
                                     const std::function<bool(const Words&)>& wanted, const Maker& make);

}  // namespace refrain::conformance
