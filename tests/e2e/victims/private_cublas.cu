// A program that opens cuBLAS itself, for itself alone, as frameworks in scripting languages do: products in
// a chain, each made from the one before, read from the last to the first. Prints a digest.
#include <cublas_v2.h>
#include <dlfcn.h>

#include <vector>

#include "check.cuh"

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

int main() {
  constexpr int kSide = 64, kProducts = 12;
  constexpr size_t kBytes = kSide * kSide * sizeof(float);
  void* library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != nullptr);
  const auto create = reinterpret_cast<decltype(&cublasCreate_v2)>(dlsym(library, "cublasCreate_v2"));
  const auto product = reinterpret_cast<decltype(&cublasSgemm_v2)>(dlsym(library, "cublasSgemm_v2"));
  const auto destroy = reinterpret_cast<decltype(&cublasDestroy_v2)>(dlsym(library, "cublasDestroy_v2"));
  EXPECT(create != nullptr && product != nullptr && destroy != nullptr);
  cublasHandle_t handle;
  BLAS(create(&handle));
  std::vector<float> host(kSide * kSide);
  for (size_t i = 0; i < host.size(); ++i) host[i] = (i * 37 % 101 - 50.0f) / 400.0f;
  std::vector<float*> chain(kProducts + 1);
  for (float*& p : chain) CHECK(cudaMalloc(&p, kBytes));
  CHECK(cudaMemcpy(chain[0], host.data(), kBytes, cudaMemcpyHostToDevice));
  const float one = 1, zero = 0;
  for (int i = 0; i < kProducts; ++i) {
    BLAS(product(handle, CUBLAS_OP_N, CUBLAS_OP_T, kSide, kSide, kSide, &one, chain[0], kSide, chain[i],
                 kSide, &zero, chain[i + 1], kSide));
  }
  unsigned long long digest = 14695981039346656037ull;
  for (int i = kProducts; i >= 0; --i) {
    CHECK(cudaMemcpy(host.data(), chain[i], kBytes, cudaMemcpyDeviceToHost));
    const auto* bytes = reinterpret_cast<const unsigned char*>(host.data());
    for (size_t k = 0; k < kBytes; ++k) digest = (digest ^ bytes[k]) * 1099511628211ull;
  }
  BLAS(destroy(handle));
  std::printf("digest %016llx\n", digest);
}
