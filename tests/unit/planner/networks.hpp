// Training steps made up for tests of schemes: blocks of ops with names, a loss, their way back, an update.
#pragma once

#include "iterations.hpp"

namespace refrain::planner {

enum Name : std::uint32_t { kEmbed, kMatmul, kGelu, kDropout, kLoss, kBackward, kUpdate, kNames };

struct Network {
  Iteration iteration;
  std::vector<std::uint32_t> names;

  ValueIndex add(Name name, std::int64_t cost_ns, std::vector<ValueIndex> reads, std::int64_t bytes) {
    const ValueIndex value = add_value(iteration, bytes);
    add_op(iteration, cost_ns, std::move(reads), {value});
    names.push_back(name);
    return value;
  }
};

struct Shape {
  int blocks = 4, steps = 1;
  bool updates = false;
  std::int64_t weight_bytes = 1;
};

// A step: embed; of each block matmul (cost 30), gelu (1), dropout (1), each of 10 bytes and read again on
// the way back; a loss. With updates, each block's weight is written over at the end of the step, which reads
// its gradient, of as many bytes.
inline Network network(const Shape& shape) {
  Network out;
  const auto constant = [&](std::int64_t bytes) {
    const ValueIndex value = add_value(out.iteration, bytes);
    out.iteration.values[value].constant = true;
    return value;
  };
  const ValueIndex input = constant(10);
  std::vector<ValueIndex> weights;
  for (int i = 0; i < shape.blocks; ++i) weights.push_back(constant(shape.weight_bytes));
  for (int step = 0; step < shape.steps; ++step) {
    ValueIndex x = out.add(kEmbed, 5, {input}, 10);
    std::vector<std::vector<ValueIndex>> kept;
    for (const ValueIndex weight : weights) {
      const ValueIndex a = out.add(kMatmul, 30, {x, weight}, 10), b = out.add(kGelu, 1, {a}, 10);
      kept.push_back({x, a, b});
      x = out.add(kDropout, 1, {b}, 10);
    }
    ValueIndex gradient = out.add(kLoss, 3, {x}, 10);
    std::vector<ValueIndex> gradients(weights.size());
    for (std::size_t i = weights.size(); i-- > 0;) {
      gradient = out.add(kBackward, 1, {gradient, kept[i][2]}, 10);
      gradient = out.add(kBackward, 1, {gradient, kept[i][1]}, 10);
      gradients[i] = out.add(kBackward, 30, {gradient, kept[i][0]}, shape.weight_bytes);
      gradient = out.add(kBackward, 30, {gradient, weights[i]}, 10);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (shape.updates)
        weights[i] = out.add(kUpdate, 1, {weights[i], gradients[i]}, shape.weight_bytes);
      else
        out.iteration.values[gradients[i]].wanted = true;
    }
  }
  if (shape.updates)
    for (const ValueIndex weight : weights) out.iteration.values[weight].wanted = true;
  for (Value& value : out.iteration.values)
    value.freed_after = static_cast<OpIndex>(out.iteration.ops.size());
  return out;
}

}  // namespace refrain::planner
