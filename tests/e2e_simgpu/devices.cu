// Several devices: kernels and variables of each, copies and reads between them, a host thread for each, and
// a model trained on all, whose bytes are those of one device. The argument is how many there must be.
#include <cstring>
#include <thread>
#include <vector>

#include "expect.cuh"

__device__ int offset = 100;
__managed__ int shared_by_all = 0;

__global__ void number(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = offset + i;
}

__global__ void sum_of_two(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

__global__ void count_up() {
  ++shared_by_all;
}

constexpr int kInts = 1000;
constexpr std::size_t kBytes = kInts * sizeof(int);

int devices = 0;

int* numbers_of(int device) {
  int* out = nullptr;
  const int own = 1000 * device;
  RUN(cudaSetDevice(device));
  RUN(cudaMemcpyToSymbol(offset, &own, sizeof own));
  RUN(cudaMalloc(&out, kBytes));
  number<<<4, 256>>>(out, kInts);
  RUN(cudaGetLastError());
  return out;
}

void check_numbers(const int* from, int first, int step) {
  std::vector<int> host(kInts);
  RUN(cudaMemcpy(host.data(), from, kBytes, cudaMemcpyDefault));
  for (int i = 0; i < kInts; ++i) EXPECT(host[i] == first + step * i);
}

// What a failed call leaves for cudaGetLastError.
#define FAIL(error, call)                  \
  do {                                     \
    EXPECT((call) == (error));             \
    EXPECT(cudaGetLastError() == (error)); \
  } while (0)

void properties() {
  int buses = 0;
  for (int device = 0; device < devices; ++device) {
    cudaDeviceProp found{};
    RUN(cudaGetDeviceProperties(&found, device));
    EXPECT((buses & 1 << found.pciBusID) == 0 && found.unifiedAddressing == 1);
    buses |= 1 << found.pciBusID;
    int can = 0;
    RUN(cudaDeviceCanAccessPeer(&can, device, (device + 1) % devices));
    EXPECT(can == 1);
  }
  FAIL(cudaErrorInvalidDevice, cudaSetDevice(devices));
  int device = -1;
  RUN(cudaGetDevice(&device));
  EXPECT(device == 0);
}

void kernels_and_peers() {
  std::vector<int*> numbers;
  for (int device = 0; device < devices; ++device) numbers.push_back(numbers_of(device));
  for (int device = 0; device < devices; ++device) {
    RUN(cudaSetDevice(device));
    check_numbers(numbers[device], 1000 * device, 1);
    cudaPointerAttributes about{};
    RUN(cudaPointerGetAttributes(&about, numbers[device]));
    EXPECT(about.device == device && about.type == cudaMemoryTypeDevice);
  }
  // Device 0 reads the last one's memory.
  const int last = devices - 1;
  RUN(cudaSetDevice(0));
  FAIL(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
  RUN(cudaDeviceEnablePeerAccess(last, 0));
  FAIL(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(last, 0));
  int* sum = nullptr;
  RUN(cudaMalloc(&sum, kBytes));
  sum_of_two<<<4, 256>>>(numbers[0], numbers[last], sum, kInts);
  check_numbers(sum, 1000 * last, 2);
  RUN(cudaDeviceDisablePeerAccess(last));
  FAIL(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(last));
  // Round the ring by copies, which need no access.
  for (int device = 0; device + 1 < devices; ++device) {
    RUN(cudaMemcpyPeer(numbers[device + 1], device + 1, numbers[device], device, kBytes));
  }
  check_numbers(numbers[last], 0, 1);
  RUN(cudaMemcpy(sum, numbers[last], kBytes, cudaMemcpyDeviceToDevice));
  check_numbers(sum, 0, 1);
  for (int* memory : numbers) RUN(cudaFree(memory));  // device 0 is current
  RUN(cudaFree(sum));
}

void streams_and_events() {
  RUN(cudaSetDevice(0));
  cudaStream_t first, second;
  cudaEvent_t done, other;
  int *from = nullptr, *to = nullptr;
  RUN(cudaStreamCreate(&first));
  RUN(cudaEventCreate(&done));
  RUN(cudaMalloc(&from, kBytes));
  RUN(cudaSetDevice(1));
  RUN(cudaStreamCreate(&second));
  RUN(cudaEventCreate(&other));
  RUN(cudaMalloc(&to, kBytes));
  int device = -1;
  RUN(cudaStreamGetDevice(second, &device));
  EXPECT(device == 1);
  RUN(cudaSetDevice(0));
  number<<<4, 256, 0, first>>>(from, kInts);
  RUN(cudaEventRecord(done, first));
  FAIL(cudaErrorInvalidResourceHandle, cudaEventRecord(other, first));
  RUN(cudaSetDevice(1));
  RUN(cudaStreamWaitEvent(second, done, 0));
  RUN(cudaMemcpyPeerAsync(to, 1, from, 0, kBytes, second));
  RUN(cudaEventRecord(other, second));
  RUN(cudaEventSynchronize(other));
  check_numbers(to, 0, 1);
  float milliseconds = 0;
  FAIL(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, done, other));
  number<<<1, 32, 0, first>>>(to, 32);  // a stream of device 0
  EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  RUN(cudaFree(from));
  RUN(cudaFree(to));
  RUN(cudaStreamDestroy(first));
  RUN(cudaStreamDestroy(second));
  RUN(cudaEventDestroy(done));
  RUN(cudaEventDestroy(other));
}

void threads_and_managed() {
  for (int device = 0; device < devices; ++device) {
    RUN(cudaSetDevice(device));
    count_up<<<1, 1>>>();
    RUN(cudaDeviceSynchronize());
  }
  EXPECT(shared_by_all == devices);
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device) {
    threads.emplace_back([device] {
      int before = -1;
      RUN(cudaGetDevice(&before));
      EXPECT(before == 0);
      int* memory = numbers_of(device);
      check_numbers(memory, 1000 * device, 1);
      RUN(cudaFree(memory));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A linear model, its samples in kShards parts: each part's gradient comes from one device.
constexpr int kShards = 4, kPerShard = 16, kInputs = 24, kSteps = 5;

__global__ void gradient(const float* weights, const float* inputs, const float* targets, float* out) {
  const int w = threadIdx.x;
  float sum = 0;
  for (int s = 0; s < kPerShard; ++s) {
    float guess = 0;
    for (int i = 0; i < kInputs; ++i) guess += weights[i] * inputs[s * kInputs + i];
    sum += (guess - targets[s]) * inputs[s * kInputs + w];
  }
  out[w] = sum;
}

__global__ void update(float* weights, const float* a, const float* b, const float* c, const float* d) {
  const int w = threadIdx.x;
  weights[w] -= 0.01f * (((a[w] + b[w]) + c[w]) + d[w]) / (kShards * kPerShard);
}

struct Replica {
  cudaStream_t stream;
  cudaEvent_t done;
  float *weights, *inputs, *targets, *gradients;  // of all shards; its own are used
};

std::vector<float> samples(int count, int seed) {
  std::vector<float> out(count);
  unsigned state = seed;
  for (float& value : out) value = ((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f;
  return out;
}

Replica make_replica(int device) {
  Replica out{};
  RUN(cudaSetDevice(device));
  RUN(cudaStreamCreate(&out.stream));
  RUN(cudaEventCreateWithFlags(&out.done, cudaEventDisableTiming));
  const auto inputs = samples(kShards * kPerShard * kInputs, 1), targets = samples(kShards * kPerShard, 2),
             weights = samples(kInputs, 3);
  const auto upload = [](float*& to, const std::vector<float>& from) {
    RUN(cudaMalloc(&to, from.size() * sizeof(float)));
    RUN(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice));
  };
  upload(out.inputs, inputs);
  upload(out.targets, targets);
  upload(out.weights, weights);
  RUN(cudaMalloc(&out.gradients, kShards * kInputs * sizeof(float)));
  return out;
}

void end_replica(Replica& replica) {
  RUN(cudaStreamDestroy(replica.stream));
  RUN(cudaEventDestroy(replica.done));
  for (float* memory : {replica.weights, replica.inputs, replica.targets, replica.gradients})
    RUN(cudaFree(memory));
}

// Shard s on device s modulo `used`; gradients are summed on device 0 where they lie, weights go out by
// copies.
std::vector<float> train(int used) {
  std::vector<Replica> replicas;
  for (int device = 0; device < used; ++device) replicas.push_back(make_replica(device));
  RUN(cudaSetDevice(0));
  for (int device = 1; device < used; ++device) RUN(cudaDeviceEnablePeerAccess(device, 0));
  Replica& first = replicas[0];
  for (int step = 0; step < kSteps; ++step) {
    const float* parts[kShards];
    for (int shard = 0; shard < kShards; ++shard) {
      Replica& replica = replicas[shard % used];
      RUN(cudaSetDevice(shard % used));
      gradient<<<1, kInputs, 0, replica.stream>>>(
          replica.weights, replica.inputs + shard * kPerShard * kInputs, replica.targets + shard * kPerShard,
          replica.gradients + shard * kInputs);
      parts[shard] = replica.gradients + shard * kInputs;
      RUN(cudaEventRecord(replica.done, replica.stream));
    }
    RUN(cudaSetDevice(0));
    for (const Replica& replica : replicas) RUN(cudaStreamWaitEvent(first.stream, replica.done, 0));
    update<<<1, kInputs, 0, first.stream>>>(first.weights, parts[0], parts[1], parts[2], parts[3]);
    RUN(cudaEventRecord(first.done, first.stream));
    for (int device = 1; device < used; ++device) {
      RUN(cudaSetDevice(device));
      RUN(cudaStreamWaitEvent(replicas[device].stream, first.done, 0));
      RUN(cudaMemcpyPeerAsync(replicas[device].weights, device, first.weights, 0, kInputs * sizeof(float),
                              replicas[device].stream));
      RUN(cudaEventRecord(replicas[device].done, replicas[device].stream));
    }
    RUN(cudaSetDevice(0));  // its weights change again only when all have them
    for (const Replica& replica : replicas) RUN(cudaStreamWaitEvent(first.stream, replica.done, 0));
  }
  std::vector<float> out(kInputs);
  RUN(cudaStreamSynchronize(first.stream));
  RUN(cudaMemcpy(out.data(), first.weights, kInputs * sizeof(float), cudaMemcpyDeviceToHost));
  for (int device = 1; device < used; ++device) RUN(cudaDeviceDisablePeerAccess(device));
  for (Replica& replica : replicas) end_replica(replica);
  return out;
}

void training() {
  const std::vector<float> alone = train(1), together = train(devices);
  EXPECT(std::memcmp(alone.data(), together.data(), kInputs * sizeof(float)) == 0);
  EXPECT(alone != samples(kInputs, 3));
}

void reset_one() {
  int* here = numbers_of(0);
  int* there = numbers_of(1);
  RUN(cudaSetDevice(1));
  RUN(cudaDeviceSynchronize());
  RUN(cudaDeviceReset());
  int device = -1;
  RUN(cudaGetDevice(&device));
  EXPECT(device == 1);
  EXPECT(cudaMemset(there, 0, kBytes) != cudaSuccess);
  cudaGetLastError();
  there = numbers_of(1);
  check_numbers(there, 1000, 1);
  RUN(cudaSetDevice(0));
  check_numbers(here, 0, 1);
  RUN(cudaFree(here));
  RUN(cudaFree(there));
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  RUN(cudaGetDeviceCount(&devices));
  EXPECT(devices == std::atoi(argv[1]));
  properties();
  kernels_and_peers();
  streams_and_events();
  threads_and_managed();
  training();
  reset_one();
  std::printf("right\n");
}
