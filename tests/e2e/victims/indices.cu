// A table of indices on the device decides which tensor of an arena a kernel reads. It is copied from the
// host, and then changed in every way there is: whoever went on believing in what was copied would not have
// the tensor there that is read. Ballast of half as many tensors keeps some of them away. indices TENSORS
// ELEMENTS [WAY]
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "check.cuh"

constexpr int kRows = 32;
constexpr size_t kTableBytes = sizeof(int) * kRows;

__global__ void fill(unsigned* out, int n, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i * 2654435761u + seed;
}

__global__ void choose(const unsigned* arena, const int* table, unsigned* out, int n) {
  out[threadIdx.x] = arena[table[threadIdx.x] * n + threadIdx.x];
}

__global__ void put(int* table, int to) {
  table[threadIdx.x] = to;
}

// Changes the table while it runs, and reads it again.
__global__ void choose_next(const unsigned* arena, int* table, unsigned* out, int n, int by) {
  table[threadIdx.x] += by;
  __syncthreads();
  out[threadIdx.x] = arena[table[threadIdx.x ^ 1] * n + threadIdx.x];
}

// Nobody can say what is behind an address in memory.
__global__ void put_through(int** tables, int to) {
  tables[0][threadIdx.x] = to;
}

// As one half of a talk with the host.
__global__ void answer(volatile int* table, int to) {
  table[threadIdx.x] = to;
}

int tensors, n;
unsigned *arena, *out, *ballast;
int *table, *other, *pinned;

int ballast_words() {
  return tensors / 2 * n;
}
int blocks(int words) {
  return (words + 127) / 128;
}

void make_tensors() {
  for (int t = 0; t < tensors; ++t) fill<<<blocks(n), 128>>>(arena + size_t(t) * n, n, t);
}
// The first tensors are elsewhere afterwards, where memory is short.
void make_all() {
  make_tensors();
  fill<<<blocks(ballast_words()), 128>>>(ballast, ballast_words(), 0);
}

// For a call that wants everything there at once.
void alone(const std::function<void()>& call) {
  CHECK(cudaFree(ballast));
  call();
  make_tensors();
  CHECK(cudaMalloc(&ballast, ballast_words() * sizeof(unsigned)));
  make_all();
}

void copy(int* to, int tensor) {
  const std::vector<int> host(kRows, tensor);
  CHECK(cudaMemcpy(to, host.data(), kTableBytes, cudaMemcpyHostToDevice));
}

void expect_in_out(int tensor) {
  unsigned got[kRows];
  CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kRows; ++i) EXPECT(got[i] == i * 2654435761u + unsigned(tensor));
}
void expect(int tensor) {
  choose<<<1, kRows>>>(arena, table, out, n);
  expect_in_out(tensor);
}

// The graph is made first; what the host copies then holds until it is launched.
void by_graph() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  put<<<1, kRows, 0, stream>>>(table, 0);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  copy(table, tensors - 1);
  alone([&] { CHECK(cudaGraphLaunch(exec, stream)); });
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

// The host's numbers are written by work that comes before the copy.
void by_host_function() {
  static std::vector<int> late;
  late.assign(kRows, tensors - 1);
  CHECK(cudaLaunchHostFunc(
      0, [](void*) { std::fill(late.begin(), late.end(), 0); }, nullptr));
  CHECK(cudaMemcpy(table, late.data(), kTableBytes, cudaMemcpyHostToDevice));
}

// And here by the device, by way of the host.
void by_the_host_and_back() {
  put<<<1, kRows>>>(other, 0);
  for (int i = 0; i < kRows; ++i) pinned[i] = tensors - 1;
  CHECK(cudaMemcpyAsync(pinned, other, kTableBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(table, pinned, kTableBytes, cudaMemcpyHostToDevice));
}

// The host's numbers are written when the copy has been queued, but not made.
void by_pinned_copy() {
  for (int i = 0; i < kRows; ++i) pinned[i] = tensors - 1;
  CHECK(cudaLaunchHostFunc(
      0, [](void*) { std::fill(pinned, pinned + kRows, 0); }, nullptr));
  CHECK(cudaMemcpyAsync(table, pinned, kTableBytes, cudaMemcpyHostToDevice));
  CHECK(cudaStreamSynchronize(0));
}

void by_device_copy() {
  copy(other, 0);
  CHECK(cudaMemcpy(table, other, kTableBytes, cudaMemcpyDeviceToDevice));
}

void by_parts() {
  const int zeros[8] = {};
  for (int i = 0; i < kRows; i += 8)
    CHECK(cudaMemcpy(table + i, zeros, sizeof zeros, cudaMemcpyHostToDevice));
}

void by_rows() {
  const std::vector<int> zeros(kRows);
  alone([&] { CHECK(cudaMemcpy2D(table, 16, zeros.data(), 16, 16, kRows / 4, cudaMemcpyHostToDevice)); });
}

void by_unknown_kernel() {
  int** tables;
  CHECK(cudaMalloc(&tables, sizeof table));
  CHECK(cudaMemcpy(tables, &table, sizeof table, cudaMemcpyHostToDevice));
  alone([&] { put_through<<<1, kRows>>>(tables, 0); });
  CHECK(cudaFree(tables));
}

// Nobody can say either when such a kernel, once started, has written for the last time.
void by_talking() {
  answer<<<1, kRows>>>(table, tensors - 1);
  copy(table, 0);
}

void allocated_again() {
  CHECK(cudaFree(table));
  CHECK(cudaMalloc(&table, kTableBytes));
  put<<<1, kRows>>>(table, 0);
}

int main(int argc, char** argv) {
  tensors = std::atoi(argv[1]), n = std::atoi(argv[2]);
  CHECK(cudaMalloc(&arena, size_t(tensors) * n * sizeof(unsigned)));
  CHECK(cudaMalloc(&ballast, ballast_words() * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, kTableBytes));
  CHECK(cudaMalloc(&table, kTableBytes));
  CHECK(cudaMalloc(&other, kTableBytes));
  CHECK(cudaMallocHost(&pinned, kTableBytes));
  const int last = tensors - 1;
  // Each leaves the table with zeros, though it was copied as `last` everywhere.
  const std::vector<std::pair<const char*, std::function<void()>>> ways{
      {"copy", [] { copy(table, 0); }},
      {"kernel", [] { put<<<1, kRows>>>(table, 0); }},
      {"memset", [] { CHECK(cudaMemset(table, 0, kTableBytes)); }},
      {"device", by_device_copy},
      {"pinned", by_pinned_copy},
      {"parts", by_parts},
      {"thread", [] { std::thread([] { copy(table, 0); }).join(); }},
      {"again", allocated_again},
      {"rows", by_rows},
      {"graph", by_graph},
      {"host", by_host_function},
      {"back", by_the_host_and_back},
      {"unknown", by_unknown_kernel},
      {"talk", by_talking},
      {"answer", [] { answer<<<1, kRows>>>(table, 0); }},
  };
  for (int round = 0; round < 2; ++round) {
    for (const auto& [name, change] : ways) {
      if (argc > 3 && std::strcmp(argv[3], name) != 0) continue;
      make_all();
      copy(table, last);
      expect(last);
      change();
      expect(0);
      make_all();
      expect(0);
    }
    if (argc > 3 && std::strcmp(argv[3], "itself") != 0) continue;
    make_all();
    copy(table, last);
    choose_next<<<1, kRows>>>(arena, table, out, n, -last);
    expect_in_out(0);
    expect(0);
  }
  std::puts("ok");
}
