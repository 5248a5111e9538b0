// Control flow that goes through memory: pointers to functions, virtual functions, switches, the device's
// heap, named barriers, grids that synchronise. Compiled with -lineinfo.
#include <cooperative_groups.h>

typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ __noinline__ int difference(int a, int b) {
  return a - b;
}
__device__ Operation operations[3] = {add, multiply, difference};

extern "C" __global__ void through_pointers(int* x) {
  x[threadIdx.x] = operations[threadIdx.x % 3](threadIdx.x, 7);
}

struct Shape {
  __device__ virtual int area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Rectangle : Shape {
  int a, b;
  __device__ Rectangle(int x, int y) : a(x), b(y) {}
  __device__ int area() const override { return a * b; }
};

extern "C" __global__ void virtual_functions(int* x) {
  Shape* shape = nullptr;
  if (threadIdx.x % 2 == 0) {
    shape = new Square(threadIdx.x);
  } else {
    shape = new Rectangle(threadIdx.x, 10);
  }
  x[threadIdx.x] = shape->area();
  delete shape;
}

extern "C" __global__ void heap(int* x, long long bytes) {
  int* own = static_cast<int*>(malloc(bytes));
  if (own == nullptr) {
    x[threadIdx.x] = -1;
    return;
  }
  for (int i = 0; i < 16; ++i) own[i] = threadIdx.x * 100 + i;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 16; ++i) sum += own[i];
  x[threadIdx.x] = sum;
  free(own);
}

extern "C" __global__ void bad_free(int* x) {
  free(x);
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(int* x) {
  x[threadIdx.x] = fibonacci(threadIdx.x % 12);
}

// A switch that compilers turn into a table of branches.
extern "C" __global__ void table(int* x) {
  int v = x[threadIdx.x];
  switch (threadIdx.x % 8) {
    case 0: v = v * 3 + 1; break;
    case 1: v = v ^ 0x55; break;
    case 2: v = __popc(v); break;
    case 3: v = v / 3; break;
    case 4: v = ~v; break;
    case 5: v = v << 3; break;
    case 6: v = v % 5; break;
    default: v = -v;
  }
  x[threadIdx.x] = v;
}

// Producers arrive and go on, consumers wait: two named barriers, as in a pipeline.
extern "C" __global__ void pipeline(int* x) {
  __shared__ int slot;
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) slot = round * 11;
      __threadfence_block();
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      x[round * 32 + threadIdx.x - 32] = slot;
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}

extern "C" __global__ void whole_grid(unsigned* x) {
  auto grid = cooperative_groups::this_grid();
  x[grid.thread_rank()] = grid.thread_rank();
  grid.sync();
  const unsigned other = x[grid.size() - 1 - grid.thread_rank()];
  grid.sync();
  x[grid.thread_rank()] = other;
}

#line 1000 "far_store.cu"
__device__ __noinline__ void store(int* x, int i) {
  x[i] = i;  // line 1001 of far_store.cu, which a fault names
}
extern "C" __global__ void far_store(int* x) {
  store(x, threadIdx.x * 1000000);
}
