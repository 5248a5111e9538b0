// Another preloaded library: it counts the products, and those of them that were called with a math mode that
// does not go with their alpha (products.cu), and prints both at the end.
#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstdio>

namespace {

struct Counts {
  int total = 0, wrong = 0;
  ~Counts() { std::printf("products %d %d\n", total, wrong); }
} counts;

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) cublasStatus_t cublasSgemm_v2(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
    const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
    int ldc) {
  cublasMath_t mode{};
  next<decltype(&cublasGetMathMode)>("cublasGetMathMode")(handle, &mode);
  ++counts.total;
  counts.wrong += (mode == CUBLAS_DEFAULT_MATH) != (*alpha == 1);
  return next<decltype(&cublasSgemm_v2)>("cublasSgemm_v2")(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb,
                                                           beta, c, ldc);
}
