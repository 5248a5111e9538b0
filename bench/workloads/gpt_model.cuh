// A decoder-only transformer: forward, backward, AdamW. Each tensor is its own cudaMalloc and is freed when a
// framework with automatic differentiation would free it: what backward needs is kept until backward has used
// it, temporaries go at once, parameter gradients live from backward to the optimizer. It must not hold
// kernels.
#pragma once

#include <cmath>
#include <memory>

#include "attention.cuh"
#include "elementwise.cuh"
#include "layernorm.cuh"
#include "linear.cuh"
#include "tokens.cuh"

struct GptOptions {
  int layers = 6, hidden = 32, heads = 2, seq = 64, batch = 8, vocab = 64, steps = 12, seed = 1;
  float dropout = 0.1f;
  int positions() const { return batch * seq; }
  AttentionShape attention() const { return {batch, seq, heads, hidden / heads}; }
};

struct Parameter {
  Tensor value, gradient, m, v;  // gradient: only between backward and optimizer

  Parameter(size_t count, float scale, float center, Random& random)
      : value(count, Kind::kParameter), m(count, Kind::kOptimizer), v(count, Kind::kOptimizer) {
    std::vector<float> start(count);
    for (float& number : start) number = center + (scale > 0 ? scale * random.about_normal() : 0.0f);
    value.from_host(start);
    check(cudaMemset(m.data(), 0, m.bytes()), "cudaMemset");
    check(cudaMemset(v.data(), 0, v.bytes()), "cudaMemset");
  }
  float* start_gradient() {
    gradient = Tensor(value.count(), Kind::kGradient);
    return gradient;
  }
};

struct Linear {
  Parameter w, b;
  int in, out;

  Linear(int inputs, int outputs, Random& random)
      : w(size_t(inputs) * outputs, 1.0f / std::sqrt(float(inputs)), 0, random),
        b(outputs, 0, 0, random),
        in(inputs),
        out(outputs) {}

  Tensor forward(const Tensor& x, int rows) {
    Tensor y(size_t(rows) * out);
    LAUNCH(linear_forward, size_t(rows) * out / 4, y, x, w.value, b.value, rows, in, out);
    return y;
  }
  // Uses x and dy up.
  Tensor backward(Tensor x, Tensor dy, int rows) {
    LAUNCH(linear_backward_w, size_t(in) * out / 4, w.start_gradient(), x, dy, rows, in, out);
    LAUNCH(sum_rows, out, b.start_gradient(), dy, rows, out);
    x.reset();
    Tensor dx(size_t(rows) * in);
    LAUNCH(linear_backward_x, size_t(rows) * in / 4, dx, dy, w.value, rows, in, out);
    return dx;
  }
};

struct Normed {
  Tensor y, mean, rstd;
};

struct LayerNorm {
  Parameter gamma, beta;
  int width;

  LayerNorm(int wide, Random& random) : gamma(wide, 0, 1, random), beta(wide, 0, 0, random), width(wide) {}

  Normed forward(const Tensor& x, int rows) {
    Normed out{Tensor(size_t(rows) * width), Tensor(rows), Tensor(rows)};
    LAUNCH(layernorm_forward, rows, out.y, out.mean, out.rstd, x, gamma.value, beta.value, rows, width);
    return out;
  }
  // Uses dy and the row statistics up; x stays with the caller.
  Tensor backward(Tensor dy, const Tensor& x, Tensor mean, Tensor rstd, int rows) {
    Tensor dx(size_t(rows) * width);
    LAUNCH(layernorm_backward_x, rows, dx, dy, x, mean, rstd, gamma.value, rows, width);
    LAUNCH(layernorm_backward_weights, width, gamma.start_gradient(), beta.start_gradient(), dy, x, mean,
           rstd, rows, width);
    return dx;
  }
};

inline Tensor dropped(const Tensor& x, unsigned key, float rate) {
  Tensor y(x.count());
  LAUNCH(dropout, x.count(), y, x, key, rate, int(x.count()));
  return y;
}

inline Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tensor y(a.count());
  LAUNCH(add, a.count(), y, a, b, int(a.count()));
  return y;
}

class Block {
 public:
  Block(const GptOptions& options, Random& random)
      : o_(options),
        norm1_(o_.hidden, random),
        qkv_(o_.hidden, 3 * o_.hidden, random),
        project_(o_.hidden, o_.hidden, random),
        norm2_(o_.hidden, random),
        grow_(o_.hidden, 4 * o_.hidden, random),
        shrink_(4 * o_.hidden, o_.hidden, random) {}

  // key: of this block in this step, for dropout. Keeps x for backward.
  Tensor forward(Tensor x, unsigned key) {
    const int rows = o_.positions();
    key_ = key;
    x_ = std::move(x);
    normed1_ = norm1_.forward(x_, rows);
    qkv_out_ = qkv_.forward(normed1_.y, rows);
    attend();
    {
      const Tensor projected = dropped(project_.forward(attended_, rows), key_ + 1, o_.dropout);
      middle_ = sum_of(x_, projected);
    }
    normed2_ = norm2_.forward(middle_, rows);
    grown_ = grow_.forward(normed2_.y, rows);
    active_ = Tensor(grown_.count());
    LAUNCH(gelu_forward, grown_.count(), active_, grown_, int(grown_.count()));
    const Tensor shrunk = dropped(shrink_.forward(active_, rows), key_ + 2, o_.dropout);
    return sum_of(middle_, shrunk);
  }

  Tensor backward(Tensor dy) {
    const int rows = o_.positions();
    Tensor d = shrink_.backward(std::move(active_), dropped(dy, key_ + 2, o_.dropout), rows);
    {
      Tensor dgrown(d.count());
      LAUNCH(gelu_backward, d.count(), dgrown, d, grown_, int(d.count()));
      d = std::move(dgrown);
      grown_.reset();
    }
    d = grow_.backward(std::move(normed2_.y), std::move(d), rows);
    d = norm2_.backward(std::move(d), middle_, std::move(normed2_.mean), std::move(normed2_.rstd), rows);
    middle_.reset();
    Tensor dmiddle = sum_of(dy, d);
    dy.reset();
    d.reset();
    Tensor dattended = project_.backward(std::move(attended_), dropped(dmiddle, key_ + 1, o_.dropout), rows);
    d = qkv_.backward(std::move(normed1_.y), attend_backward(std::move(dattended)), rows);
    d = norm1_.backward(std::move(d), x_, std::move(normed1_.mean), std::move(normed1_.rstd), rows);
    x_.reset();
    return sum_of(dmiddle, d);
  }

  void forget() {
    for (Tensor* kept :
         {&x_, &normed1_.y, &normed1_.mean, &normed1_.rstd, &qkv_out_, &probabilities_, &weights_, &attended_,
          &middle_, &normed2_.y, &normed2_.mean, &normed2_.rstd, &grown_, &active_}) {
      kept->reset();
    }
  }

  std::vector<Parameter*> parameters() {
    return {&norm1_.gamma, &norm1_.beta, &qkv_.w,  &qkv_.b,  &project_.w, &project_.b,
            &norm2_.gamma, &norm2_.beta, &grow_.w, &grow_.b, &shrink_.w,  &shrink_.b};
  }

 private:
  float scale() const { return 1.0f / std::sqrt(float(o_.attention().size)); }

  void attend() {
    const AttentionShape shape = o_.attention();
    Tensor scores(shape.scores());
    LAUNCH(attention_scores, shape.scores(), scores, qkv_out_, shape, scale());
    probabilities_ = Tensor(shape.scores());
    LAUNCH(causal_softmax, shape.batch * shape.heads * shape.seq, probabilities_, scores, shape);
    scores.reset();
    weights_ = dropped(probabilities_, key_, o_.dropout);
    attended_ = Tensor(size_t(o_.positions()) * o_.hidden);
    LAUNCH(attention_mix, attended_.count() / 4, attended_, weights_, qkv_out_, shape);
  }

  Tensor attend_backward(Tensor dattended) {
    const AttentionShape shape = o_.attention();
    Tensor dweights(shape.scores());
    LAUNCH(attention_mix_backward_weights, shape.scores(), dweights, dattended, qkv_out_, shape);
    Tensor dprobabilities = dropped(dweights, key_, o_.dropout);
    dweights.reset();
    Tensor dscores(shape.scores());
    LAUNCH(causal_softmax_backward, shape.batch * shape.heads * shape.seq, dscores, dprobabilities,
           probabilities_, shape);
    dprobabilities.reset();
    probabilities_.reset();
    Tensor dqkv(qkv_out_.count());
    LAUNCH(attention_backward_qkv, dqkv.count() / 4, dqkv, dscores, weights_, dattended, qkv_out_, shape,
           scale());
    weights_.reset();
    qkv_out_.reset();
    return dqkv;
  }

  GptOptions o_;
  LayerNorm norm1_;
  Linear qkv_, project_;
  LayerNorm norm2_;
  Linear grow_, shrink_;
  unsigned key_ = 0;
  Tensor x_, qkv_out_, probabilities_, weights_, attended_, middle_, grown_, active_;
  Normed normed1_, normed2_;
};

class Gpt {
 public:
  explicit Gpt(const GptOptions& options)
      : o_(options),
        random_{uint64_t(options.seed)},
        tokens_(size_t(o_.vocab) * o_.hidden, 0.5f, 0, random_),
        positions_(size_t(o_.seq) * o_.hidden, 0.1f, 0, random_),
        norm_(o_.hidden, random_),
        head_(o_.hidden, o_.vocab, random_) {
    for (int layer = 0; layer < o_.layers; ++layer) blocks_.push_back(std::make_unique<Block>(o_, random_));
  }

  // The loss, on the device. Keeps what backward needs.
  float forward(const Indices& inputs, const Indices& targets, int step) {
    const int rows = o_.positions();
    key_ = unsigned(o_.seed) * 0x85ebca6bu + unsigned(step) * 0xc2b2ae35u;
    Tensor x(size_t(rows) * o_.hidden);
    LAUNCH(embed, x.count() / 4, x, inputs.data(), tokens_.value, positions_.value, rows, o_.seq, o_.hidden);
    x = dropped(x, key_, o_.dropout);
    for (int layer = 0; layer < o_.layers; ++layer) {
      x = blocks_[layer]->forward(std::move(x), key_ + 0x10000u * unsigned(layer + 1));
    }
    last_ = std::move(x);
    normed_ = norm_.forward(last_, rows);
    logits_ = head_.forward(normed_.y, rows);
    log_sums_ = Tensor(rows);
    Tensor losses(rows);
    LAUNCH(cross_entropy, rows, losses, log_sums_, logits_, targets.data(), rows, o_.vocab);
    Tensor loss(1);
    mean_of<<<1, 1>>>(loss, losses, rows);
    check_launch("mean_of");
    return loss.to_host()[0];
  }

  void backward(const Indices& inputs, const Indices& targets) {
    const int rows = o_.positions();
    Tensor d(logits_.count());
    LAUNCH(cross_entropy_backward, d.count(), d, logits_, log_sums_, targets.data(), rows, o_.vocab);
    logits_.reset();
    log_sums_.reset();
    d = head_.backward(std::move(normed_.y), std::move(d), rows);
    d = norm_.backward(std::move(d), last_, std::move(normed_.mean), std::move(normed_.rstd), rows);
    last_.reset();
    for (int layer = o_.layers; layer-- > 0;) d = blocks_[layer]->backward(std::move(d));
    d = dropped(d, key_, o_.dropout);
    LAUNCH(embed_backward_tokens, size_t(o_.vocab) * o_.hidden / 4, tokens_.start_gradient(), d,
           inputs.data(), rows, o_.vocab, o_.hidden);
    LAUNCH(embed_backward_positions, size_t(o_.seq) * o_.hidden / 4, positions_.start_gradient(), d, o_.batch,
           o_.seq, o_.hidden);
  }

  void optimize(int step) {
    const float m_scale = 1.0f / (1.0f - std::pow(0.9f, float(step + 1)));
    const float v_scale = 1.0f / (1.0f - std::pow(0.99f, float(step + 1)));
    for (Parameter* p : parameters()) {
      LAUNCH(adamw, p->value.count(), p->value, p->m, p->v, p->gradient, 5e-3f, 0.01f, m_scale, v_scale,
             int(p->value.count()));
      p->gradient.reset();
    }
  }

  // After a forward that no backward follows.
  void forget() {
    for (Tensor* kept : {&last_, &normed_.y, &normed_.mean, &normed_.rstd, &logits_, &log_sums_})
      kept->reset();
    for (auto& block : blocks_) block->forget();
  }

  std::vector<Parameter*> parameters() {
    std::vector<Parameter*> out{&tokens_, &positions_};
    for (auto& block : blocks_) {
      for (Parameter* p : block->parameters()) out.push_back(p);
    }
    for (Parameter* p : {&norm_.gamma, &norm_.beta, &head_.w, &head_.b}) out.push_back(p);
    return out;
  }

 private:
  GptOptions o_;
  Random random_;
  Parameter tokens_, positions_;
  LayerNorm norm_;
  Linear head_;
  std::vector<std::unique_ptr<Block>> blocks_;
  unsigned key_ = 0;
  Tensor last_, logits_, log_sums_;
  Normed normed_;
};
