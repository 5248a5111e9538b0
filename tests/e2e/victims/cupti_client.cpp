// A program with a profiler of its own, which begins after the first allocation. cupti_client HOW: looked-up
// (CUPTI is opened), linked (a library is, that is linked with it), absent (it asks whether CUPTI is there).
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace {

using Subscribe = int(void**, void*, void*);

void* found_in(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_NOW);
  return handle ? dlsym(handle, name) : nullptr;
}

}  // namespace

int main(int, char** arguments) {
  const std::string how = arguments[1];
  CUcontext context = nullptr;
  CUdeviceptr buffer = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&buffer, 1 << 16) != CUDA_SUCCESS)
    return 1;
  if (how == "absent") {
    std::printf("%s\n", dlsym(RTLD_DEFAULT, "cuptiSubscribe") ? "there" : "not there");
    return 0;
  }
  void* const begin = how == "linked" ? found_in("libcupti_plugin.so", "begin")
                                      : found_in("libcupti.so.13", "cuptiSubscribe");
  if (!begin) return 2;
  void* subscriber = nullptr;
  std::printf("subscribe: %d\n", reinterpret_cast<Subscribe*>(begin)(&subscriber, nullptr, nullptr));
  return 0;
}
