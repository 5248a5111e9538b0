// Operands in device memory as matrices and vectors on the host: exactly the documented bytes are reached,
// one contiguous run at a time. It must not compute.
#pragma once

#include <algorithm>
#include <vector>

#include "simgpu/blas/arguments.hpp"
#include "simgpu/blas/convert.hpp"
#include "simgpu/native/memory.hpp"

namespace refrain::simgpu::blas {

using native::Memory;

enum class Part { kAll, kUpper, kLower, kStrictlyUpper, kStrictlyLower };

inline Part part_of(Triangle triangle, bool strictly = false) {
  if (triangle == Triangle::kUpper) return strictly ? Part::kStrictlyUpper : Part::kUpper;
  return strictly ? Part::kStrictlyLower : Part::kLower;
}

struct Rows {
  std::int64_t first, last;  // last is behind the end
};

// Those of a column that belong to the part.
inline Rows rows_of(Part part, std::int64_t column, std::int64_t rows) {
  switch (part) {
    case Part::kAll: break;
    case Part::kUpper: return {0, std::min(column + 1, rows)};
    case Part::kLower: return {std::min(column, rows), rows};
    case Part::kStrictlyUpper: return {0, std::min(column, rows)};
    case Part::kStrictlyLower: return {std::min(column + 1, rows), rows};
  }
  return {0, rows};
}

// In columns. Either its own, or lying in device memory.
template <class W>
struct Matrix {
  Matrix() = default;
  Matrix(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count),
        columns(column_count),
        ld(std::max<std::int64_t>(1, row_count)),
        own(static_cast<std::size_t>(ld * column_count)) {
    data = own.data();
  }
  Matrix(Matrix&&) noexcept = default;
  Matrix& operator=(Matrix&&) noexcept = default;

  W* column(std::int64_t index) { return data + index * ld; }
  W& at(std::int64_t row, std::int64_t column_index) { return data[row + column_index * ld]; }
  int stride() const { return static_cast<int>(std::max<std::int64_t>(1, ld)); }

  std::int64_t rows = 0, columns = 0, ld = 1;
  W* data = nullptr;
  std::vector<W> own;
};

class Operands {
 public:
  explicit Operands(Memory& memory) : memory_(memory) {}

  std::uint64_t place(const Operand& operand, std::int64_t batch, const char* name) {
    if (operand.pointers)
      return *memory_.read<std::uint64_t>(operand.address + 8 * static_cast<std::uint64_t>(batch), 1, name);
    return operand.address + static_cast<std::uint64_t>(batch * operand.stride) * element_bytes(operand.type);
  }

  template <class W>
  W scalar(const Scalar& scalar, const char* name, std::int64_t index = 0) {
    const std::uint64_t bytes = element_bytes(scalar.type);
    const std::byte* from = scalar.value;
    if (scalar.address != 0) {
      from = memory_.reach(scalar.address + static_cast<std::uint64_t>(index) * bytes, bytes, bytes,
                           native::kRead, name);
    }
    W out{};
    widen(scalar.type, from, &out, 1);
    return out;
  }

  template <class W>
  Matrix<W> load(const Operand& operand, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                 const char* name, Part part = Part::kAll) {
    Matrix<W> out(rows, columns);
    for_runs(operand, batch, rows, columns, part, native::kRead, name,
             [&](const std::byte* run, std::int64_t first, std::int64_t index, std::int64_t count) {
               if (!operand.row_major) return widen(operand.type, run, &out.at(first, index), count);
               std::vector<W> line(static_cast<std::size_t>(count));
               widen(operand.type, run, line.data(), count);
               for (std::int64_t at = 0; at < count; ++at)
                 out.at(index, first + at) = line[static_cast<std::size_t>(at)];
             });
    return out;
  }

  template <class W>
  void store(const Operand& operand, std::int64_t batch, Matrix<W>& from, const char* name,
             Part part = Part::kAll) {
    for_runs(operand, batch, from.rows, from.columns, part, native::kWrite, name,
             [&](std::byte* run, std::int64_t first, std::int64_t index, std::int64_t count) {
               if (!operand.row_major) return narrow(operand.type, &from.at(first, index), run, count);
               std::vector<W> line(static_cast<std::size_t>(count));
               for (std::int64_t at = 0; at < count; ++at)
                 line[static_cast<std::size_t>(at)] = from.at(index, first + at);
               narrow(operand.type, line.data(), run, count);
             });
  }

  // Without a copy where the operand is already what is computed with. access is of every element of it.
  template <class W>
  bool lies_as(const Operand& operand) const {
    return operand.type == kTypeOf<W> && !operand.row_major;
  }
  template <class W>
  Matrix<W> in_place(const Operand& operand, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                     const char* name, bool reads, bool writes) {
    Matrix<W> out;
    out.rows = rows;
    out.columns = columns;
    out.ld = operand.ld;
    for (const std::uint32_t access : {reads ? native::kRead : 0U, writes ? native::kWrite : 0U}) {
      if (access == 0) continue;
      for_runs(operand, batch, rows, columns, Part::kAll, access, name,
               [&](std::byte* run, std::int64_t, std::int64_t index, std::int64_t) {
                 if (index == 0) out.data = reinterpret_cast<W*>(run);
                 // What is contiguous on the device is so on the host (AddressSpace::translate).
                 if (out.column(index) != reinterpret_cast<W*>(run))
                   throw std::logic_error("scattered columns");
               });
    }
    return out;
  }
  template <class W>
  Matrix<W> view(const Operand& operand, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                 const char* name) {
    if (lies_as<W>(operand)) return in_place<W>(operand, batch, rows, columns, name, true, false);
    return load<W>(operand, batch, rows, columns, name);
  }

  // Vectors: ld is the increment; a negative one begins at the far end.
  template <class W>
  std::vector<W> load_vector(const Operand& operand, std::int64_t batch, std::int64_t count,
                             const char* name) {
    std::vector<W> out(static_cast<std::size_t>(count));
    for_elements(operand, batch, count, native::kRead, name,
                 [&](std::byte* at, std::int64_t index, std::int64_t length) {
                   widen(operand.type, at, &out[static_cast<std::size_t>(index)], length);
                 });
    return out;
  }
  template <class W>
  void store_vector(const Operand& operand, std::int64_t batch, const std::vector<W>& from,
                    const char* name) {
    for_elements(operand, batch, static_cast<std::int64_t>(from.size()), native::kWrite, name,
                 [&](std::byte* at, std::int64_t index, std::int64_t length) {
                   narrow(operand.type, &from[static_cast<std::size_t>(index)], at, length);
                 });
  }
  template <class W>
  void store_one(const Operand& operand, W value, const char* name) {
    const std::uint64_t bytes = element_bytes(operand.type);
    narrow(operand.type, &value, memory_.reach(operand.address, bytes, bytes, native::kWrite, name), 1);
  }
  Memory& memory() { return memory_; }

 private:
  // visit(bytes, first row, column, count), or with rows and columns exchanged if it lies in rows.
  template <class Visitor>
  void for_runs(const Operand& operand, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                Part part, std::uint32_t access, const char* name, Visitor visit) {
    if (rows == 0 || columns == 0) return;
    const std::uint64_t bytes = element_bytes(operand.type);
    const std::uint64_t base = place(operand, batch, name);
    const std::int64_t length = operand.row_major ? columns : rows;
    const std::int64_t lines = operand.row_major ? rows : columns;
    if (part == Part::kAll && operand.ld == length) {
      std::byte* all =
          memory_.reach(base, static_cast<std::uint64_t>(length * lines) * bytes, bytes, access, name);
      for (std::int64_t line = 0; line < lines; ++line)
        visit(all + static_cast<std::uint64_t>(line * length) * bytes, 0, line, length);
      return;
    }
    for (std::int64_t line = 0; line < lines; ++line) {
      const Rows range = rows_of(part, line, length);
      if (range.first == range.last) continue;
      const auto count = static_cast<std::uint64_t>(range.last - range.first);
      const std::uint64_t address =
          base + static_cast<std::uint64_t>(line * operand.ld + range.first) * bytes;
      visit(memory_.reach(address, count * bytes, bytes, access, name), range.first, line,
            range.last - range.first);
    }
  }

  template <class Visitor>
  void for_elements(const Operand& operand, std::int64_t batch, std::int64_t count, std::uint32_t access,
                    const char* name, Visitor visit) {
    if (count == 0) return;
    const std::uint64_t bytes = element_bytes(operand.type);
    const std::uint64_t base = place(operand, batch, name);
    if (operand.ld == 1) {
      visit(memory_.reach(base, static_cast<std::uint64_t>(count) * bytes, bytes, access, name), 0, count);
      return;
    }
    const std::int64_t start = operand.ld < 0 ? (1 - count) * operand.ld : 0;
    for (std::int64_t index = 0; index < count; ++index) {
      const auto offset = static_cast<std::uint64_t>(start + index * operand.ld) * bytes;
      visit(memory_.reach(base + offset, bytes, bytes, access, name), index, 1);
    }
  }

  Memory& memory_;
};

}  // namespace refrain::simgpu::blas
