// A network whose layers are products by cuBLAS and small kernels between them, and its way back, which needs
// every activation again. products LAYERS STEPS
// [once|device|workspace|handles|strided|arrays|written|ger|lt]...: prints a digest of every byte that it
// computed. Activations are allocated in each step, or once; scalars are on the host, or on the device; the
// handle has cuBLAS's workspace or the program's; one handle serves, or one for each step.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstring>
#include <vector>

#include "check.cuh"

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

constexpr int kSide = 64;  // an activation is 16 KiB, a whole number of the software device's pages
constexpr int kElements = kSide * kSide;
constexpr size_t kBytes = kElements * sizeof(float);
constexpr int kWeights = 2;  // the layers share them

__global__ void squash(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] / (1.0f + fabsf(in[i]));
}
__global__ void slope(const float* in, const float* above, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = above[i] * (1.0f - fabsf(in[i]) * 0.25f);
}

// The addresses of the quarters of three matrices.
__global__ void point(const float** addresses, const float* a, const float* b, const float* c, int step_b,
                      int step_c) {
  const int i = threadIdx.x;
  addresses[i] = a;
  addresses[4 + i] = b + i * step_b;
  addresses[8 + i] = c + i * step_c;
}

struct Options {
  bool once = false, device = false, workspace = false, handles = false, strided = false, ger = false,
       lt = false, arrays = false, written = false;
};

struct Network {
  Options options;
  std::vector<float*> weights, gradients, sums, values;
  float *input, *down, *down_before, *scalars, *bias, *aux, *lt_workspace;
  float** addresses = nullptr;
  void* workspace = nullptr;
  cublasHandle_t handle = nullptr;
  unsigned long long digest = 14695981039346656037ull;

  void note(const float* from, int count) {
    std::vector<float> host(count);
    CHECK(cudaMemcpy(host.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
    const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
    for (size_t i = 0; i < count * sizeof(float); ++i) digest = (digest ^ bytes[i]) * 1099511628211ull;
  }

  void open() {
    BLAS(cublasCreate(&handle));
    if (options.device) BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    if (options.workspace) BLAS(cublasSetWorkspace(handle, workspace, kBytes));
  }

  // By cublasLt, all of whose descriptors are gone at once. What overwrites its output gets a bias too, and
  // leaves what it was before GELU in aux.
  void lt_product(cublasOperation_t op_a, cublasOperation_t op_b, const float* a, const float* b,
                  const float* alpha, const float* beta, bool overwrites, float* out) {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t layout;
    BLAS(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      BLAS(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, op_a);
    set(CUBLASLT_MATMUL_DESC_TRANSB, op_b);
    if (options.device) set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
    if (overwrites && op_a == CUBLAS_OP_N && op_b == CUBLAS_OP_N) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(kSide));
    }
    BLAS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, kSide, kSide, kSide));
    BLAS(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), operation, alpha, a, layout, b, layout,
                        beta, out, layout, out, layout, nullptr, lt_workspace, kBytes, nullptr));
    BLAS(cublasLtMatrixLayoutDestroy(layout));
    BLAS(cublasLtMatmulDescDestroy(operation));
  }

  // As four products whose matrices' addresses the host or a kernel has put on the device.
  void quarters(cublasOperation_t op_a, const float* a, const float* b, const float* alpha, const float* beta,
                float* out) {
    const int columns = kSide / 4, step = kSide * columns;
    if (options.written) {
      point<<<1, 4>>>(const_cast<const float**>(addresses), a, b, out, step, step);
    } else {
      const float* host[12];
      for (int i = 0; i < 4; ++i) host[i] = a, host[4 + i] = b + i * step, host[8 + i] = out + i * step;
      CHECK(cudaMemcpy(addresses, host, sizeof host, cudaMemcpyHostToDevice));
    }
    BLAS(cublasSgemmBatched(handle, op_a, CUBLAS_OP_N, kSide, columns, kSide, alpha, addresses, kSide,
                            addresses + 4, kSide, beta, addresses + 8, kSide, 4));
  }

  // out = alpha op(a) op(b) + beta out. Odd layers have another alpha, and another math mode: who listens can
  // tell whether they belong together.
  void product(int layer, cublasOperation_t op_a, cublasOperation_t op_b, const float* a, const float* b,
               float beta, float* out) {
    BLAS(cublasSetMathMode(handle, layer % 2 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
    const float factor = layer % 2 ? 0.5f : 1.0f;
    const float* alpha = options.device ? scalars + (layer % 2 ? 2 : 0) : &factor;
    const float* add = options.device ? scalars + (beta == 0 ? 1 : 0) : &beta;
    if (options.lt) return lt_product(op_a, op_b, a, b, alpha, add, beta == 0, out);
    if ((options.arrays || options.written) && op_b == CUBLAS_OP_N)
      return quarters(op_a, a, b, alpha, add, out);
    if (options.strided) {  // four products of a quarter of the columns each
      const int columns = kSide / 4;
      if (op_b == CUBLAS_OP_N) {
        BLAS(cublasSgemmStridedBatched(handle, op_a, op_b, kSide, columns, kSide, alpha, a, kSide, 0, b,
                                       kSide, kSide * columns, add, out, kSide, kSide * columns, 4));
        return;
      }
    }
    BLAS(cublasSgemm(handle, op_a, op_b, kSide, kSide, kSide, alpha, a, kSide, b, kSide, add, out, kSide));
  }

  void allocate(std::vector<float*>& out, size_t count) {
    out.resize(count);
    for (float*& p : out) CHECK(cudaMalloc(&p, kBytes));
  }
  void release(std::vector<float*>& out) {
    for (float* p : out) CHECK(cudaFree(p));
    out.clear();
  }

  void forward(int layers) {
    const float* below = input;
    for (int i = 0; i < layers; ++i) {
      product(i, CUBLAS_OP_N, CUBLAS_OP_N, weights[i % kWeights], below, 0, sums[i]);
      if (options.ger) {
        const float half = 0.5f;
        BLAS(cublasSger(handle, kSide, kSide, options.device ? scalars : &half, bias, 1, bias, 1, sums[i],
                        kSide));
      }
      squash<<<kElements / 128, 128>>>(sums[i], values[i], kElements);
      below = values[i];
    }
  }

  void backward(int layers) {
    CHECK(cudaMemcpy(down, values[layers - 1], kBytes, cudaMemcpyDeviceToDevice));
    for (int i = layers; i-- > 0;) {
      slope<<<kElements / 128, 128>>>(sums[i], down, down_before, kElements);
      const float* below = i == 0 ? input : values[i - 1];
      product(i, CUBLAS_OP_N, CUBLAS_OP_T, down_before, below, 0, gradients[i % kWeights]);
      product(i, CUBLAS_OP_N, CUBLAS_OP_T, below, down_before, 1, gradients[i % kWeights]);
      product(i, CUBLAS_OP_T, CUBLAS_OP_N, weights[i % kWeights], down_before, 0, down);
      note(values[i], kElements);
      note(gradients[i % kWeights], kElements);
    }
    note(down, kElements);
  }
};

int main(int argc, char** argv) {
  const int layers = std::atoi(argv[1]), steps = std::atoi(argv[2]);
  Network net;
  for (int i = 3; i < argc; ++i) {
    const auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0; };
    net.options.once |= is("once");
    net.options.device |= is("device");
    net.options.workspace |= is("workspace");
    net.options.handles |= is("handles");
    net.options.strided |= is("strided");
    net.options.arrays |= is("arrays");
    net.options.written |= is("written");
    net.options.ger |= is("ger");
    net.options.lt |= is("lt");
  }
  std::vector<float> host(kElements);
  net.allocate(net.weights, kWeights);
  net.allocate(net.gradients, kWeights);
  for (int i = 0; i < kWeights; ++i) {
    for (int e = 0; e < kElements; ++e) host[e] = ((e * 37 + i * 11) % 101 - 50) / 200.0f;
    CHECK(cudaMemcpy(net.weights[i], host.data(), kBytes, cudaMemcpyHostToDevice));
  }
  for (float** p : {&net.input, &net.down, &net.down_before, &net.aux, &net.lt_workspace})
    CHECK(cudaMalloc(p, kBytes));
  CHECK(cudaMalloc(&net.scalars, 3 * sizeof(float)));
  CHECK(cudaMalloc(&net.addresses, 12 * sizeof(float*)));
  CHECK(cudaMalloc(&net.bias, kSide * sizeof(float)));
  const float scalars[] = {1, 0, 0.5f};
  CHECK(cudaMemcpy(net.scalars, scalars, sizeof scalars, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(net.bias, host.data(), kSide * sizeof(float), cudaMemcpyHostToDevice));
  if (net.options.workspace) CHECK(cudaMalloc(&net.workspace, kBytes));
  if (!net.options.handles) net.open();
  for (int step = 0; step < steps; ++step) {
    if (net.options.handles) net.open();
    for (int e = 0; e < kElements; ++e) host[e] = ((e * 13 + step * 7) % 97 - 48) / 48.0f;
    CHECK(cudaMemcpy(net.input, host.data(), kBytes, cudaMemcpyHostToDevice));
    if (net.sums.empty()) {
      net.allocate(net.sums, layers);
      net.allocate(net.values, layers);
    }
    net.forward(layers);
    if (net.options.handles) {  // those of the way forward are needed no longer, to the program's mind
      BLAS(cublasDestroy(net.handle));
      net.open();
    }
    net.backward(layers);
    CHECK(cudaGetLastError());
    if (!net.options.once) {
      net.release(net.sums);
      net.release(net.values);
    }
    if (net.options.handles) BLAS(cublasDestroy(net.handle));
  }
  if (!net.options.handles) BLAS(cublasDestroy(net.handle));
  std::printf("digest %016llx\n", net.digest);
}
