// The table of kernels, and their loading. It must not compute.
#include "simgpu/blas/library.hpp"

#include "simgpu/blas/kernels.hpp"

namespace refrain::simgpu::blas {
namespace {

constexpr std::uint32_t kArgumentBytes[] = {sizeof(Arguments)};
static_assert(sizeof(Arguments) <= 4096, "what a launch may carry");

constexpr native::Kernel kKernels[] = {
#define BLAS_KERNEL(id, work) {"blas_" #work, kArgumentBytes, 1, &native::body<Arguments, &work>},
#include "simgpu/blas/kernels.def"
#undef BLAS_KERNEL
};

}  // namespace
}  // namespace refrain::simgpu::blas

[[gnu::visibility("default")]] refrain::simgpu::native::Client* simgpu_blas_client() {
  static auto* client = new refrain::simgpu::native::Client("cublas", refrain::simgpu::blas::kKernels);
  return client;
}
