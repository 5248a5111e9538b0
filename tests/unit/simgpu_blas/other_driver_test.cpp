// The stand-ins beside a driver that is not the software device: they must not start, and say why.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace {

TEST(OtherDriver, IsRefused) {
  ASSERT_NE(nullptr, dlopen("libcuda.so.1", RTLD_NOW)) << dlerror();
  testing::internal::CaptureStderr();
  cublasHandle_t blas = nullptr;
  cublasLtHandle_t lt = nullptr;
  EXPECT_EQ(CUBLAS_STATUS_NOT_INITIALIZED, cublasCreate(&blas));
  EXPECT_EQ(CUBLAS_STATUS_NOT_INITIALIZED, cublasLtCreate(&lt));
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string line = "simgpu cublas: this library runs on simgpu's libcuda.so.1 only";
  EXPECT_EQ(0U, text.find(line)) << text;
}

}  // namespace
