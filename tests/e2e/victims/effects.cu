// For each thing that makes a kernel's replay differ, or touch what its parameters do not name: a tensor made
// that way, looked at, pushed out of memory, and looked at again. Random numbers whose state lies in memory
// come too: they are functions of their state. effects [NAME]
#include <cassert>
#include <cstring>
#include <functional>
#include <vector>

#include "check.cuh"

constexpr int kCount = 4096, kBlock = 256;
constexpr size_t kBytes = kCount * sizeof(unsigned);

#define KERNEL __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL fill(unsigned* out, unsigned seed) {
  out[I] = I * 2654435761u + seed;
}

KERNEL float_atomics(const unsigned* in, unsigned* out) {
  atomicAdd(reinterpret_cast<float*>(out) + I % 64, 1.0f / (1 + in[I] % 1000));
}
KERNEL count_atomics(const unsigned* in, unsigned* out) {
  atomicAdd(out + in[I] % kCount, in[I]);
}
KERNEL tickets(unsigned* next, unsigned* out) {
  out[I] = atomicAdd(next, 1u);
}
KERNEL clocks(unsigned* out) {
  out[I] = static_cast<unsigned>(clock64()) + I;
}
KERNEL places(unsigned* out) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  out[I] = sm + I;
}
__device__ unsigned global_salt = 5;
KERNEL set_global(unsigned to) {
  global_salt = to;
}
KERNEL use_global(const unsigned* in, unsigned* out) {
  out[I] = in[I] + global_salt;
}
KERNEL flagged(const volatile unsigned* flag, const unsigned* in, unsigned* out) {
  while (*flag == 0) {
  }
  out[I] = in[I] + 1;
}
KERNEL prints(const unsigned* in, unsigned* out) {
  if (in[I] == 12345) printf("%u\n", in[I]);
  out[I] = in[I] ^ 7;
}
KERNEL asserts(const unsigned* in, unsigned* out) {
  out[I] = in[I] ^ 9;
  assert(out[I] != in[I]);
}
KERNEL through(unsigned* const* pointers, unsigned* out) {
  out[I] = pointers[0][I] + 3;
}
KERNEL peek(unsigned* const* pointers, unsigned* out) {
  out[I] = pointers[0][0] + I;
}
// A generator for each thread.
KERNEL draw(unsigned* state, unsigned* out) {
  state[I] = state[I] * 1664525u + 1013904223u;
  out[I] = state[I] >> 3;
}

unsigned* device(size_t bytes = kBytes) {
  unsigned* out;
  CHECK(cudaMalloc(&out, bytes));
  return out;
}
std::vector<unsigned> host(const unsigned* from) {
  std::vector<unsigned> out(kCount);
  CHECK(cudaMemcpy(out.data(), from, kBytes, cudaMemcpyDeviceToHost));
  return out;
}
#define RUN(kernel, ...) kernel<<<kCount / kBlock, kBlock>>>(__VA_ARGS__)

// As much as the cap leaves, so that whatever may go has gone.
void press(int tensors) {
  std::vector<unsigned*> all;
  for (int i = 0; i < tensors; ++i) {
    all.push_back(device());
    RUN(fill, all.back(), i);
  }
  for (int i = 0; i < tensors; ++i) EXPECT(host(all[i])[1] == 2654435761u + unsigned(i));
  for (unsigned* p : all) CHECK(cudaFree(p));
}

int main(int argc, char** argv) {
  unsigned *in = device(), *out = device(), *more = device(), *small = device(sizeof(unsigned*)),
           *hidden = device(sizeof(unsigned));
  const std::vector<std::pair<const char*, std::function<void()>>> ways{
      {"float_atomics",
       [&] {
         CHECK(cudaMemset(out, 0, kBytes));
         RUN(float_atomics, in, out);
       }},
      {"count_atomics",
       [&] {
         CHECK(cudaMemset(out, 0, kBytes));
         RUN(count_atomics, in, out);
       }},
      {"tickets",
       [&] {
         CHECK(cudaMemset(small, 0, sizeof(unsigned)));
         RUN(tickets, small, out);
       }},
      {"clocks", [&] { RUN(clocks, out); }},
      {"places", [&] { RUN(places, out); }},
      {"globals",
       [&] {
         RUN(use_global, in, out);
         set_global<<<1, 1>>>(77);
       }},
      {"flags",
       [&] {
         CHECK(cudaMemset(small, 1, sizeof(unsigned)));
         RUN(flagged, small, in, out);
         CHECK(cudaMemset(small, 2, sizeof(unsigned)));
       }},
      {"prints", [&] { RUN(prints, in, out); }},
      {"asserts", [&] { RUN(asserts, in, out); }},
      {"through",
       [&] {
         CHECK(cudaMemcpy(small, &in, sizeof in, cudaMemcpyHostToDevice));
         RUN(through, reinterpret_cast<unsigned**>(small), out);
         CHECK(cudaMemset(small, 0, sizeof in));
       }},
      // What it finds by way of the table changes afterwards.
      {"peeks",
       [&] {
         CHECK(cudaMemset(hidden, 5, sizeof(unsigned)));
         CHECK(cudaMemcpy(small, &hidden, sizeof hidden, cudaMemcpyHostToDevice));
         RUN(peek, reinterpret_cast<unsigned**>(small), out);
         CHECK(cudaMemset(hidden, 9, sizeof(unsigned)));
       }},
      {"draws",
       [&] {
         RUN(fill, more, 11);
         RUN(draw, more, out);
         RUN(draw, more, in);
         RUN(draw, more, in);
       }},
  };
  for (const auto& [name, make] : ways) {
    if (argc > 1 && std::strcmp(argv[1], name) != 0) continue;
    RUN(fill, in, 3);
    make();
    const std::vector<unsigned> wanted = host(out), wanted_in = host(in);
    press(12);
    EXPECT(host(out) == wanted);
    EXPECT(host(in) == wanted_in);
  }
  std::puts("ok");
}
