// A dense layer forwards and backwards with the BLAS libraries: cuRAND makes the input, cublasLt multiplies
// with bias and GELU, cuBLAS does the rest, and loops on the host say what is right.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <curand.h>

#include <cmath>
#include <vector>

#include "expect.cuh"

constexpr int kIn = 37, kOut = 53, kBatch = 29, kLd = 64;

__global__ void twice(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

#define STATUS(call) EXPECT((call) == 0)

std::vector<float> download(const float* from, size_t count, cudaStream_t stream) {
  std::vector<float> out(count);
  RUN(cudaMemcpyAsync(out.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
  RUN(cudaStreamSynchronize(stream));
  return out;
}

void close_to(double found, double wanted) {
  EXPECT(std::fabs(found - wanted) <= 1e-4 * (1 + std::fabs(wanted)));
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456 * (x + 0.044715 * x * x * x)));
}

// y = gelu(w x + b), with w stored as its transpose
void layer(cublasLtHandle_t lt, const float* w, const float* x, const float* bias, float* y,
           cudaStream_t stream) {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t w_layout, x_layout, y_layout;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
  STATUS(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  STATUS(
      cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
  STATUS(
      cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  STATUS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  STATUS(cublasLtMatrixLayoutCreate(&w_layout, CUDA_R_32F, kIn, kOut, kLd));
  STATUS(cublasLtMatrixLayoutCreate(&x_layout, CUDA_R_32F, kIn, kBatch, kLd));
  STATUS(cublasLtMatrixLayoutCreate(&y_layout, CUDA_R_32F, kOut, kBatch, kLd));
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  STATUS(cublasLtMatmulPreferenceCreate(&preference));
  STATUS(cublasLtMatmulAlgoGetHeuristic(lt, operation, w_layout, x_layout, y_layout, y_layout, preference, 1,
                                        &found, &count));
  EXPECT(count == 1);
  const float one = 1, zero = 0;
  STATUS(cublasLtMatmul(lt, operation, &one, w, w_layout, x, x_layout, &zero, y, y_layout, y, y_layout,
                        &found.algo, nullptr, 0, stream));
  STATUS(cublasLtMatmulPreferenceDestroy(preference));
  STATUS(cublasLtMatrixLayoutDestroy(w_layout));
  STATUS(cublasLtMatrixLayoutDestroy(x_layout));
  STATUS(cublasLtMatrixLayoutDestroy(y_layout));
  STATUS(cublasLtMatmulDescDestroy(operation));
}

int main() {
  float *w, *x, *bias, *y, *gradient;
  RUN(cudaMalloc(&w, kLd * kOut * sizeof(float)));
  RUN(cudaMalloc(&x, kLd * kBatch * sizeof(float)));
  RUN(cudaMalloc(&bias, kOut * sizeof(float)));
  RUN(cudaMalloc(&y, kLd * kBatch * sizeof(float)));
  RUN(cudaMalloc(&gradient, kLd * kOut * sizeof(float)));
  RUN(cudaMemset(y, 0, kLd * kBatch * sizeof(float)));
  RUN(cudaDeviceSynchronize());
  cudaStream_t main_stream, side;
  RUN(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  RUN(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaEvent_t made;
  RUN(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));

  curandGenerator_t random;
  STATUS(curandCreateGenerator(&random, CURAND_RNG_PSEUDO_PHILOX4_32_10));
  STATUS(curandSetPseudoRandomGeneratorSeed(random, 5));
  STATUS(curandSetStream(random, side));
  STATUS(curandGenerateNormal(random, w, kLd * kOut, 0, 0.3f));
  STATUS(curandGenerateNormal(random, x, kLd * kBatch, 0, 1));
  STATUS(curandGenerateUniform(random, bias, kOut));
  RUN(cudaEventRecord(made, side));
  RUN(cudaStreamWaitEvent(main_stream, made, 0));
  const std::vector<float> host_w = download(w, kLd * kOut, side), host_x = download(x, kLd * kBatch, side),
                           host_bias = download(bias, kOut, side);
  double mean = 0, square = 0;
  for (float v : host_w) mean += v / host_w.size(), square += v * v / host_w.size();
  EXPECT(std::fabs(mean) < 0.03 && std::fabs(std::sqrt(square) - 0.3) < 0.03);

  cublasLtHandle_t lt;
  cublasHandle_t blas;
  STATUS(cublasLtCreate(&lt));
  STATUS(cublasCreate(&blas));
  STATUS(cublasSetStream(blas, main_stream));
  layer(lt, w, x, bias, y, main_stream);
  twice<<<(kLd * kBatch + 127) / 128, 128, 0, main_stream>>>(y, kLd * kBatch);
  // gradient = x y^T, the third operand of a training step
  const float one = 1, zero = 0;
  STATUS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, kIn, kOut, kBatch, &one, x, kLd, y, kLd, &zero, gradient,
                     kLd));
  float norm = 0;
  STATUS(cublasSnrm2(blas, kBatch * kLd, y, 1, &norm));

  std::vector<double> wanted(kOut * kBatch);
  double squares = 0;
  for (int j = 0; j < kBatch; ++j) {
    for (int i = 0; i < kOut; ++i) {
      double sum = host_bias[i];
      for (int k = 0; k < kIn; ++k) sum += double(host_w[k + i * kLd]) * host_x[k + j * kLd];
      wanted[i + j * kOut] = 2 * gelu(sum);
      squares += wanted[i + j * kOut] * wanted[i + j * kOut];
    }
  }
  const std::vector<float> host_y = download(y, kLd * kBatch, main_stream);
  for (int j = 0; j < kBatch; ++j) {
    for (int i = 0; i < kLd; ++i) close_to(host_y[i + j * kLd], i < kOut ? wanted[i + j * kOut] : 0);
  }
  close_to(norm, std::sqrt(squares));
  const std::vector<float> host_gradient = download(gradient, kLd * kOut, main_stream);
  for (int i = 0; i < kOut; ++i) {
    for (int k = 0; k < kIn; ++k) {
      double sum = 0;
      for (int j = 0; j < kBatch; ++j) sum += host_x[k + j * kLd] * wanted[i + j * kOut];
      close_to(host_gradient[k + i * kLd], sum);
    }
  }

  // The same once more as a graph.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  RUN(cudaMemsetAsync(y, 0, kLd * kBatch * sizeof(float), main_stream));
  RUN(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
  layer(lt, w, x, bias, y, main_stream);
  twice<<<(kLd * kBatch + 127) / 128, 128, 0, main_stream>>>(y, kLd * kBatch);
  RUN(cudaStreamEndCapture(main_stream, &graph));
  RUN(cudaGraphInstantiate(&exec, graph, 0));
  RUN(cudaGraphLaunch(exec, main_stream));
  EXPECT(download(y, kLd * kBatch, main_stream) == host_y);

  STATUS(cublasDestroy(blas));
  STATUS(cublasLtDestroy(lt));
  STATUS(curandDestroyGenerator(random));
  for (float* p : {w, x, bias, y, gradient}) RUN(cudaFree(p));
  std::printf("blas right\n");
  return 0;
}
