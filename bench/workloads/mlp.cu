// Trains a classifier of a few dense layers on synthetic data; everything is allocated once and used again
// every step. A plain CUDA program: it must not know what it runs on.
#include <cmath>

#include "elementwise.cuh"
#include "linear.cuh"
#include "tokens.cuh"

namespace {

struct Options {
  int layers = 6, hidden = 64, batch = 512, features = 32, classes = 16, steps = 60, seed = 1;
  bool gelu = false;
};

struct Layer {
  int in, out;
  Tensor w, b, dw, db, mw, mb, pre, post, dpre, dx;

  Layer(const Options& o, int inputs, int outputs, Random& random)
      : in(inputs),
        out(outputs),
        w(size_t(in) * out, Kind::kParameter),
        b(out, Kind::kParameter),
        dw(w.count(), Kind::kGradient),
        db(out, Kind::kGradient),
        mw(w.count(), Kind::kOptimizer),
        mb(out, Kind::kOptimizer),
        pre(size_t(o.batch) * out),
        post(size_t(o.batch) * out),
        dpre(size_t(o.batch) * out),
        dx(size_t(o.batch) * in) {
    std::vector<float> start(w.count());
    for (float& number : start) number = random.about_normal() * std::sqrt(2.0f / float(in));
    w.from_host(start);
    for (Tensor* zero : {&b, &mw, &mb}) check(cudaMemset(zero->data(), 0, zero->bytes()), "cudaMemset");
  }
};

// Points around one center for each class.
struct Data {
  std::vector<float> centers;
  Data(const Options& o, Random& random) : centers(size_t(o.classes) * o.features) {
    for (float& number : centers) number = random.about_normal();
  }
  void batch(const Options& o, int step, std::vector<float>& x, std::vector<int>& labels) const {
    Random random{uint64_t(o.seed) * 7919 + uint64_t(step)};
    for (int row = 0; row < o.batch; ++row) {
      labels[row] = int(random.next() % uint64_t(o.classes));
      for (int f = 0; f < o.features; ++f) {
        x[size_t(row) * o.features + f] =
            centers[size_t(labels[row]) * o.features + f] + random.about_normal();
      }
    }
  }
};

class Mlp {
 public:
  explicit Mlp(const Options& options)
      : o_(options),
        random_{uint64_t(o_.seed)},
        data_(o_, random_),
        x_(size_t(o_.batch) * o_.features),
        labels_(o_.batch),
        losses_(o_.batch),
        log_sums_(o_.batch),
        loss_(1),
        host_x_(x_.count()),
        host_labels_(o_.batch) {
    int in = o_.features;
    for (int layer = 0; layer < o_.layers; ++layer) {
      const int out = layer + 1 == o_.layers ? o_.classes : o_.hidden;
      layers_.emplace_back(o_, in, out, random_);
      in = out;
    }
  }

  float train(int step) {
    data_.batch(o_, step, host_x_, host_labels_);
    x_.from_host(host_x_);
    check(cudaMemcpy(labels_.data(), host_labels_.data(), host_labels_.size() * sizeof(int),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy of labels");
    forward();
    backward();
    for (Layer& layer : layers_) {
      LAUNCH(momentum_sgd, layer.w.count(), layer.w, layer.mw, layer.dw, 0.02f, int(layer.w.count()));
      LAUNCH(momentum_sgd, layer.b.count(), layer.b, layer.mb, layer.db, 0.02f, int(layer.b.count()));
    }
    return loss_.to_host()[0];
  }

  uint64_t digest() const {
    uint64_t out = kFnvStart;
    for (const Layer& layer : layers_) {
      for (const Tensor* tensor : {&layer.w, &layer.b}) {
        const std::vector<float> values = tensor->to_host();
        out = fnv1a(out, values.data(), values.size() * sizeof(float));
      }
    }
    return out;
  }

 private:
  const int* labels() const { return reinterpret_cast<const int*>(labels_.data()); }
  bool last(size_t index) const { return index + 1 == layers_.size(); }
  const Tensor& input(size_t index) const { return index == 0 ? x_ : layers_[index - 1].post; }

  void forward() {
    for (size_t index = 0; index < layers_.size(); ++index) {
      Layer& layer = layers_[index];
      LAUNCH(linear_forward, layer.pre.count() / 4, layer.pre, input(index), layer.w, layer.b, o_.batch,
             layer.in, layer.out);
      if (last(index)) continue;
      const int count = int(layer.pre.count());
      if (o_.gelu) {
        LAUNCH(gelu_forward, count, layer.post, layer.pre, count);
      } else {
        LAUNCH(relu_forward, count, layer.post, layer.pre, count);
      }
    }
    LAUNCH(cross_entropy, o_.batch, losses_, log_sums_, layers_.back().pre, labels(), o_.batch, o_.classes);
    mean_of<<<1, 1>>>(loss_, losses_, o_.batch);
    check_launch("mean_of");
  }

  void backward() {
    for (size_t index = layers_.size(); index-- > 0;) {
      Layer& layer = layers_[index];
      const int count = int(layer.pre.count());
      if (last(index)) {
        LAUNCH(cross_entropy_backward, count, layer.dpre, layer.pre, log_sums_, labels(), o_.batch,
               o_.classes);
      } else if (o_.gelu) {
        LAUNCH(gelu_backward, count, layer.dpre, layers_[index + 1].dx, layer.pre, count);
      } else {
        LAUNCH(relu_backward, count, layer.dpre, layers_[index + 1].dx, layer.pre, count);
      }
      LAUNCH(linear_backward_w, layer.w.count() / 4, layer.dw, input(index), layer.dpre, o_.batch, layer.in,
             layer.out);
      LAUNCH(sum_rows, layer.out, layer.db, layer.dpre, o_.batch, layer.out);
      if (index > 0) {
        LAUNCH(linear_backward_x, layer.dx.count() / 4, layer.dx, layer.dpre, layer.w, o_.batch, layer.in,
               layer.out);
      }
    }
  }

  Options o_;
  Random random_;
  Data data_;
  std::vector<Layer> layers_;
  Tensor x_, labels_, losses_, log_sums_, loss_;
  std::vector<float> host_x_;
  std::vector<int> host_labels_;
};

}  // namespace

int main(int count, char** arguments) {
  Options o;
  parse_flags(count, arguments,
              {{"--layers", &o.layers, nullptr, nullptr, 1},
               {"--hidden", &o.hidden, nullptr, nullptr, 4},
               {"--batch", &o.batch, nullptr, nullptr, 1},
               {"--features", &o.features, nullptr, nullptr, 4},
               {"--classes", &o.classes, nullptr, nullptr, 4},
               {"--steps", &o.steps, nullptr, nullptr, 1},
               {"--seed", &o.seed, nullptr, nullptr, 0},
               {"--gelu", nullptr, nullptr, &o.gelu, 0}});
  if (o.hidden % 4 != 0 || o.features % 4 != 0 || o.classes % 4 != 0) {
    bad_flag("--hidden, --features and --classes must be multiples of 4");
  }
  Mlp model(o);
  for (int step = 0; step < o.steps; ++step) print_step(step, model.train(step));
  account().print();
  std::printf("weights digest %016llx\n", static_cast<unsigned long long>(model.digest()));
  return 0;
}
