// Trains a small decoder-only transformer on synthetic sequences and prints losses, memory and a digest of
// the weights. A plain CUDA program: it must not know what it runs on.
#include "gpt_model.cuh"

namespace {

// Sequences in which each token follows from the one before, but for some noise.
struct Batch {
  std::vector<int> inputs, targets;
  Batch(const GptOptions& o, int step) {
    Random random{uint64_t(o.seed) * 1000003 + uint64_t(step)};
    for (int b = 0; b < o.batch; ++b) {
      int token = int(random.next() % uint64_t(o.vocab));
      for (int t = 0; t < o.seq; ++t) {
        inputs.push_back(token);
        token = random.uniform() < 0.05f ? int(random.next() % uint64_t(o.vocab)) : (token * 5 + 7) % o.vocab;
        targets.push_back(token);
      }
    }
  }
};

float train(const GptOptions& o, Gpt& model, int step) {
  const Batch batch(o, step);
  const Indices inputs(batch.inputs), targets(batch.targets);
  const float loss = model.forward(inputs, targets, step);
  model.backward(inputs, targets);
  model.optimize(step);
  return loss;
}

float loss_only(const GptOptions& o, Gpt& model) {
  const Batch batch(o, 0);
  const Indices inputs(batch.inputs), targets(batch.targets);
  const float loss = model.forward(inputs, targets, 0);
  model.forget();
  return loss;
}

// The slope along a direction, by differences, against the gradient's: for each parameter along its gradient,
// and along the half of it that a mask keeps. Returns whether all agree.
bool check_gradients(const GptOptions& o, Gpt& model) {
  const Batch batch(o, 0);
  {
    const Indices inputs(batch.inputs), targets(batch.targets);
    model.forward(inputs, targets, 0);
    model.backward(inputs, targets);
  }
  Random random{99};
  bool good = true;
  int index = 0;
  for (Parameter* p : model.parameters()) {
    const std::vector<float> gradient = p->gradient.to_host();
    const std::vector<float> before = p->value.to_host();
    for (const bool masked : {false, true}) {
      std::vector<float> direction = gradient;
      double square = 0;
      for (float& part : direction) {
        if (masked && random.uniform() < 0.5f) part = 0;
        square += double(part) * part;
      }
      const double norm = std::sqrt(square);
      if (norm < 1e-7) continue;  // such as the bias of the keys, which softmax cancels
      const double step = 2e-2;
      double losses[2];
      for (int side = 0; side < 2; ++side) {
        std::vector<float> moved = before;
        for (size_t i = 0; i < moved.size(); ++i) {
          moved[i] += float((side == 0 ? step : -step) * direction[i] / norm);
        }
        p->value.from_host(moved);
        losses[side] = loss_only(o, model);
      }
      p->value.from_host(before);
      const double slope = (losses[0] - losses[1]) / (2 * step);
      const bool close = std::fabs(slope - norm) < 0.005 * norm + 1e-4;
      std::printf("parameter %d%s: gradient %.6f, differences %.6f%s\n", index, masked ? " masked" : "", norm,
                  slope, close ? "" : "  <- WRONG");
      good = good && close;
    }
    ++index;
  }
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  GptOptions o;
  bool gradients = false;
  parse_flags(count, arguments,
              {{"--layers", &o.layers, nullptr, nullptr, 1},
               {"--hidden", &o.hidden, nullptr, nullptr, 4},
               {"--heads", &o.heads, nullptr, nullptr, 1},
               {"--seq", &o.seq, nullptr, nullptr, 1},
               {"--batch", &o.batch, nullptr, nullptr, 1},
               {"--vocab", &o.vocab, nullptr, nullptr, 4},
               {"--steps", &o.steps, nullptr, nullptr, 1},
               {"--seed", &o.seed, nullptr, nullptr, 0},
               {"--dropout", nullptr, &o.dropout, nullptr, 0},
               {"--check-gradients", nullptr, nullptr, &gradients, 0}});
  if (o.hidden % (4 * o.heads) != 0 || o.vocab % 4 != 0) {
    bad_flag("--hidden must be a multiple of 4 times --heads, --vocab a multiple of 4");
  }
  Gpt model(o);
  if (gradients) {
    const bool good = check_gradients(o, model);
    std::printf("gradients %s\n", good ? "agree" : "DO NOT agree");
    return good ? 0 : 1;
  }
  for (int step = 0; step < o.steps; ++step) print_step(step, train(o, model, step));
  account().print();
  uint64_t digest = kFnvStart;
  for (Parameter* p : model.parameters()) {
    const std::vector<float> values = p->value.to_host();
    digest = fnv1a(digest, values.data(), values.size() * sizeof(float));
  }
  std::printf("weights digest %016llx\n", static_cast<unsigned long long>(digest));
  return 0;
}
