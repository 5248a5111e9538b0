// cuRAND's host API.
#include <cuda.h>
#include <curand.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

#define OK(call) ASSERT_EQ(CUDA_SUCCESS, (call))
#define RAND(call) ASSERT_EQ(CURAND_STATUS_SUCCESS, (call))

// The functions under test, ours or the toolkit's.
struct Api {
  decltype(&::curandCreateGeneratorHost) create;
  decltype(&::curandDestroyGenerator) destroy;
  decltype(&::curandSetPseudoRandomGeneratorSeed) seed;
  decltype(&::curandSetGeneratorOffset) offset;
  decltype(&::curandSetQuasiRandomGeneratorDimensions) dimensions;
  decltype(&::curandGenerate) bits;
  decltype(&::curandGenerateLongLong) wide;
  decltype(&::curandGenerateUniform) uniform;
  decltype(&::curandGenerateUniformDouble) uniform_double;
  decltype(&::curandGenerateNormal) normal;
  decltype(&::curandGenerateNormalDouble) normal_double;
  decltype(&::curandGenerateLogNormal) log_normal;
  decltype(&::curandGenerateLogNormalDouble) log_normal_double;
};

const Api ours = {&curandCreateGeneratorHost,
                  &curandDestroyGenerator,
                  &curandSetPseudoRandomGeneratorSeed,
                  &curandSetGeneratorOffset,
                  &curandSetQuasiRandomGeneratorDimensions,
                  &curandGenerate,
                  &curandGenerateLongLong,
                  &curandGenerateUniform,
                  &curandGenerateUniformDouble,
                  &curandGenerateNormal,
                  &curandGenerateNormalDouble,
                  &curandGenerateLogNormal,
                  &curandGenerateLogNormalDouble};

// nullptr where the toolkit has no library.
const Api* find_toolkit() {
#ifdef TOOLKIT_CURAND
  static Api api{};
  void* library = dlopen(TOOLKIT_CURAND, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto look = [&]<class F>(F& out, const char* name) {
    out = reinterpret_cast<F>(dlsym(library, name));
  };
  look(api.create, "curandCreateGeneratorHost");
  look(api.destroy, "curandDestroyGenerator");
  look(api.seed, "curandSetPseudoRandomGeneratorSeed");
  look(api.offset, "curandSetGeneratorOffset");
  look(api.dimensions, "curandSetQuasiRandomGeneratorDimensions");
  look(api.bits, "curandGenerate");
  look(api.wide, "curandGenerateLongLong");
  look(api.uniform, "curandGenerateUniform");
  look(api.uniform_double, "curandGenerateUniformDouble");
  look(api.normal, "curandGenerateNormal");
  look(api.normal_double, "curandGenerateNormalDouble");
  look(api.log_normal, "curandGenerateLogNormal");
  look(api.log_normal_double, "curandGenerateLogNormalDouble");
  EXPECT_NE(reinterpret_cast<void*>(api.bits), reinterpret_cast<void*>(ours.bits));
  return &api;
#else
  return nullptr;
#endif
}

// A program of calls on one generator: all numbers and statuses that it gets.
std::string play(const Api& api, curandRngType_t type, std::uint64_t program) {
  std::mt19937_64 choice(program);
  const bool quasi = type >= CURAND_RNG_QUASI_DEFAULT;
  curandGenerator_t generator = nullptr;
  std::string out;
  const auto note = [&](const void* bytes, std::size_t count) {
    out.append(static_cast<const char*>(bytes), count);
  };
  const auto status = [&](curandStatus_t value) { note(&value, sizeof value); };
  status(api.create(&generator, type));
  unsigned dimensions = 1;
  if (quasi) status(api.dimensions(generator, dimensions = 1 + static_cast<unsigned>(choice() % 10)));
  for (int step = 0; step < 12; ++step) {
    // Where Philox goes on after a new seed in the middle is not documented.
    if (choice() % 4 == 0 && (step == 0 || type != CURAND_RNG_PSEUDO_PHILOX4_32_10))
      status(api.seed(generator, choice()));
    if (choice() % 4 == 0) status(api.offset(generator, choice() % (choice() % 2 == 0 ? 10 : 1 << 20)));
    // Enough for several rounds of each type's interleaving, but for the slowest.
    const std::size_t units[] = {2, 6, 34, 1000, 9000, type == CURAND_RNG_PSEUDO_MRG32K3A ? 8UL : 400000UL};
    const std::size_t count = units[choice() % 6] * (quasi ? dimensions : 1) + (choice() % 8 == 0 ? 1 : 0);
    std::vector<double> numbers(count, -1);
    auto* as_double = numbers.data();
    auto* as_float = reinterpret_cast<float*>(as_double);
    switch (choice() % (quasi ? 4 : 8)) {
      case 0: status(api.bits(generator, reinterpret_cast<unsigned*>(as_double), count)); break;
      case 1: status(api.wide(generator, reinterpret_cast<unsigned long long*>(as_double), count)); break;
      case 2: status(api.uniform(generator, as_float, count)); break;
      case 3: status(api.uniform_double(generator, as_double, count)); break;
      case 4: status(api.normal(generator, as_float, count, 0.25f, 3)); break;
      case 5: status(api.normal_double(generator, as_double, count, -1, 0.5)); break;
      case 6: status(api.log_normal(generator, as_float, count, 0.25f, 0.5f)); break;
      case 7: status(api.log_normal_double(generator, as_double, count, 0, 1)); break;
    }
    note(numbers.data(), count * sizeof(double));
  }
  status(api.destroy(generator));
  return out;
}

class AsTheToolkit : public ::testing::TestWithParam<curandRngType_t> {};

TEST_P(AsTheToolkit, TheSameNumbersOnTheHost) {
  const Api* toolkit = find_toolkit();
  if (toolkit == nullptr) GTEST_SKIP() << "the toolkit has no libcurand.so.10 here";
  // The toolkit takes seconds to start MRG32k3a.
  const std::uint64_t programs = GetParam() == CURAND_RNG_PSEUDO_MRG32K3A ? 2 : 8;
  for (std::uint64_t program = 1; program <= programs; ++program) {
    const std::string wanted = play(*toolkit, GetParam(), program), found = play(ours, GetParam(), program);
    ASSERT_EQ(wanted.size(), found.size());
    const auto differs = std::mismatch(wanted.begin(), wanted.end(), found.begin()).first - wanted.begin();
    ASSERT_EQ(static_cast<std::ptrdiff_t>(wanted.size()), differs) << "program " << program;
  }
}
INSTANTIATE_TEST_SUITE_P(Types, AsTheToolkit,
                         ::testing::Values(CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                           CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
                                           CURAND_RNG_QUASI_SOBOL64));

// The first numbers of seed 0, which cuRAND documents to stay.
TEST(Known, FirstNumbers) {
  const struct {
    curandRngType_t type;
    std::vector<unsigned> numbers;
  } rows[] = {{CURAND_RNG_PSEUDO_DEFAULT, {3179217846, 3955638199, 167591721, 4161663997}},
              {CURAND_RNG_PSEUDO_MRG32K3A, {545508615, 341016064, 1125210161, 2161280324}},
              {CURAND_RNG_PSEUDO_PHILOX4_32_10, {1713891541, 3781805453, 3159862348, 2600524760, 2219120097}},
              {CURAND_RNG_QUASI_DEFAULT, {0, 2147483648, 3221225472, 1073741824, 1610612736}}};
  for (const auto& known : rows) {
    curandGenerator_t generator = nullptr;
    RAND(curandCreateGeneratorHost(&generator, known.type));
    std::vector<unsigned> found(known.numbers.size());
    RAND(curandGenerate(generator, found.data(), found.size()));
    EXPECT_EQ(known.numbers, found);
    RAND(curandDestroyGenerator(generator));
  }
}

TEST(Poisson, HasItsMeanAndVariance) {
  for (const double lambda : {0.3, 4.0, 700.0}) {
    curandGenerator_t generator = nullptr;
    RAND(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    std::vector<unsigned> numbers(100000);
    RAND(curandGeneratePoisson(generator, numbers.data(), numbers.size(), lambda));
    double sum = 0, squares = 0;
    for (const unsigned x : numbers) sum += x;
    const double mean = sum / static_cast<double>(numbers.size());
    for (const unsigned x : numbers) squares += (x - mean) * (x - mean);
    EXPECT_NEAR(lambda, mean, 5 * std::sqrt(lambda / 1e5));
    EXPECT_NEAR(1, squares / 1e5 / lambda, 0.05);
    RAND(curandDestroyGenerator(generator));
  }
}

class OnTheDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    OK(cuInit(0));
    CUcontext context = nullptr;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory_, 1 << 16));
    RAND(curandCreateGeneratorHost(&host_, CURAND_RNG_PSEUDO_XORWOW));
    RAND(curandCreateGenerator(&device_, CURAND_RNG_PSEUDO_XORWOW));
    OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    RAND(curandSetStream(device_, stream_));
  }
  void TearDown() override {
    curandDestroyGenerator(host_);
    curandDestroyGenerator(device_);
    cuDevicePrimaryCtxReset(0);
  }
  float* floats() const { return reinterpret_cast<float*>(memory_); }
  std::vector<float> read(std::size_t count) {
    std::vector<float> out(count);
    EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(out.data(), memory_, count * 4));
    return out;
  }
  std::vector<float> wanted(std::size_t count) {
    std::vector<float> out(count);
    EXPECT_EQ(CURAND_STATUS_SUCCESS, curandGenerateUniform(host_, out.data(), count));
    return out;
  }

  CUdeviceptr memory_ = 0;
  CUstream stream_ = nullptr;
  curandGenerator_t host_ = nullptr, device_ = nullptr;
};

TEST_F(OnTheDevice, AsOnTheHost) {
  for (const std::size_t count : {5, 1000, 7}) {
    RAND(curandGenerateUniform(device_, floats(), count));
    EXPECT_EQ(wanted(count), read(count));
  }
}

TEST_F(OnTheDevice, SeedsThatChangeWhileWorkIsQueued) {
  RAND(curandGenerateUniform(device_, floats(), 4));
  RAND(curandSetPseudoRandomGeneratorSeed(device_, 99));
  RAND(curandGenerateUniform(device_, floats() + 4, 4));
  const auto found = read(8);
  auto first = wanted(4);
  RAND(curandSetPseudoRandomGeneratorSeed(host_, 99));
  const auto second = wanted(4);  // from position 4 on
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(first, found);
}

TEST_F(OnTheDevice, AGraphGoesOnWithEachReplay) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  RAND(curandGenerateUniform(device_, floats(), 16));
  OK(cuStreamEndCapture(stream_, &graph));
  OK(cuGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; ++round) {
    OK(cuGraphLaunch(exec, stream_));
    EXPECT_EQ(wanted(16), read(16));
  }
}

TEST_F(OnTheDevice, OutputOutOfBoundsNamesTheCall) {
  CUdeviceptr range = 0;
  OK(cuMemAddressReserve(&range, 1 << 21, 0, 0, 0));
  testing::internal::CaptureStderr();
  curandGenerateUniform(device_, reinterpret_cast<float*>(range), 16);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream_));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(std::string::npos, text.find("curandGenerateUniform (kernel curand_generate): write of 64 bytes"))
      << text;
}

TEST(Refused, ByName) {
  curandGenerator_t generator = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(CURAND_STATUS_TYPE_ERROR, curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_MTGP32));
  unsigned* constants = nullptr;
  EXPECT_NE(CURAND_STATUS_SUCCESS, curandGetScrambleConstants32(&constants));
  EXPECT_EQ(
      "simgpu curand: generator type 141 is not supported\n"
      "simgpu curand: curandGetScrambleConstants32 is not supported\n",
      testing::internal::GetCapturedStderr());
  EXPECT_EQ(CURAND_STATUS_NOT_INITIALIZED, curandSetPseudoRandomGeneratorSeed(nullptr, 1));
}

}  // namespace
