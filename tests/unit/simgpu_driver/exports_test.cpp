// The built libcuda.so.1: what it exports and what cuGetProcAddress answers. It must not link the driver.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

namespace {

struct Row {
  const char* name;
  int version;
  const char* symbol;
  int per_thread_version;
  const char* per_thread;
};
const Row kRows[] = {
#define DRIVER_FUNCTION(name, version, symbol) {#name, version, #symbol, 0, nullptr},
#define DRIVER_FUNCTION_PT(name, version, symbol, pt_version, suffix) \
  {#name, version, #symbol, pt_version, #symbol "_" #suffix},
#define DRIVER_ABSENT DRIVER_FUNCTION
#define DRIVER_ABSENT_PT DRIVER_FUNCTION_PT
#include "simgpu/driver/functions.def"
};

using Look5 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using Look4 = CUresult (*)(const char*, void**, int, cuuint64_t);

class Exports : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(SIMGPU_LIBCUDA, RTLD_NOW);
    ASSERT_NE(nullptr, library_) << dlerror();
    look_ = reinterpret_cast<Look5>(dlsym(library_, "cuGetProcAddress_v2"));
    ASSERT_NE(nullptr, look_);
  }
  void* ask(const char* name, int version, cuuint64_t flags = 0,
            CUdriverProcAddressQueryResult expected = CU_GET_PROC_ADDRESS_SUCCESS) {
    void* out = &out;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(CUDA_SUCCESS, look_(name, &out, version, flags, &status));
    EXPECT_EQ(expected, status) << name;
    return out;
  }
  void* symbol(const char* name) { return dlsym(library_, name); }

  void* library_ = nullptr;
  Look5 look_ = nullptr;
};

TEST_F(Exports, AreExactlyTheTable) {
  std::set<std::string> wanted = {"simgpu_native_image_version"}, found;
  for (const Row& row : kRows) {
    wanted.insert(row.symbol);
    if (row.per_thread != nullptr) wanted.insert(row.per_thread);
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nm(
      popen("nm -D --defined-only --format=just-symbols " SIMGPU_LIBCUDA, "r"), &pclose);
  ASSERT_NE(nullptr, nm);
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), nm.get()) != nullptr) {
    std::string name = line.data();
    found.insert(name.substr(0, name.find_first_of("@\n")));
  }
  EXPECT_EQ(wanted, found);
}

TEST_F(Exports, EachRowIsAnsweredByItsSymbol) {
  for (const Row& row : kRows) {
    ASSERT_NE(nullptr, symbol(row.symbol)) << row.symbol;
    EXPECT_EQ(symbol(row.symbol), ask(row.name, row.version)) << row.symbol;
    if (row.per_thread == nullptr) continue;
    EXPECT_EQ(symbol(row.per_thread), ask(row.name, std::max(row.version, row.per_thread_version),
                                          CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        << row.per_thread;
  }
}

TEST_F(Exports, VersionsAndFlagsChooseTheAbi) {
  EXPECT_EQ(symbol("cuMemAlloc_v2"), ask("cuMemAlloc", 12000));
  EXPECT_EQ(symbol("cuMemAlloc_v2"), ask("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
  EXPECT_EQ(symbol("cuGetProcAddress"), ask("cuGetProcAddress", 11030));
  EXPECT_EQ(symbol("cuGetProcAddress_v2"), ask("cuGetProcAddress", 12000));
  EXPECT_EQ(symbol("cuCtxGetDevice"), ask("cuCtxGetDevice", 12080));
  EXPECT_EQ(symbol("cuCtxGetDevice_v2"), ask("cuCtxGetDevice", 13000));
  EXPECT_EQ(symbol("cuMemcpyHtoD_v2_ptds"), ask("cuMemcpyHtoD", 7000, 2));
  EXPECT_EQ(nullptr, ask("cuMemCreate", 9000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
  EXPECT_EQ(nullptr, ask("cuMemAlloc_v2", 12000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
  EXPECT_EQ(nullptr, ask("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
  void* out = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, look_("cuInit", &out, 99000, 0, nullptr));
  const auto old = reinterpret_cast<Look4>(symbol("cuGetProcAddress"));
  EXPECT_EQ(CUDA_SUCCESS, old("cuInit", &out, 13000, 0));
  EXPECT_EQ(symbol("cuInit"), out);
}

TEST_F(Exports, PrivateTablesAreNotImitated) {
  const void* table = &table;
  const CUuuid id{};
  const auto get = reinterpret_cast<CUresult (*)(const void**, const CUuuid*)>(symbol("cuGetExportTable"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, get(&table, &id));
  EXPECT_EQ(nullptr, table);
  EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find("-cudart shared"));
}

TEST_F(Exports, WhatIsAbsentSaysSo) {
  const auto absent = reinterpret_cast<CUresult (*)(void*)>(symbol("cuArrayDestroy"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, absent(nullptr));
  EXPECT_EQ("simgpu: cuArrayDestroy is not supported\n", testing::internal::GetCapturedStderr());
}

TEST_F(Exports, PerThreadVariantsUseTheThreadsOwnStream) {
  const auto call = [&](const char* name) { return symbol(name); };
  const auto init = reinterpret_cast<CUresult (*)(unsigned)>(call("cuInit"));
  const auto retain = reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(call("cuDevicePrimaryCtxRetain"));
  const auto set = reinterpret_cast<CUresult (*)(CUcontext)>(call("cuCtxSetCurrent"));
  const auto id = reinterpret_cast<CUresult (*)(CUstream, unsigned long long*)>(call("cuStreamGetId"));
  const auto own_id =
      reinterpret_cast<CUresult (*)(CUstream, unsigned long long*)>(call("cuStreamGetId_ptsz"));
  CUcontext context = nullptr;
  ASSERT_EQ(CUDA_SUCCESS, init(0));
  ASSERT_EQ(CUDA_SUCCESS, retain(&context, 0));
  ASSERT_EQ(CUDA_SUCCESS, set(context));
  unsigned long long legacy = 0, own = 0, named = 0;
  EXPECT_EQ(CUDA_SUCCESS, id(nullptr, &legacy));
  EXPECT_EQ(CUDA_SUCCESS, own_id(nullptr, &own));
  EXPECT_EQ(CUDA_SUCCESS, id(CU_STREAM_PER_THREAD, &named));
  EXPECT_NE(legacy, own);
  EXPECT_EQ(named, own);
}

}  // namespace
