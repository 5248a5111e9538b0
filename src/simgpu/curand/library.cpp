// libcurand's host API: generators on the device and on the host. It must not compute numbers.
#include <algorithm>
#include <string>
#include <vector>

#include "simgpu/curand/sequence.hpp"
#include "simgpu/native/client.hpp"
#include "simgpu/native/memory.hpp"
#include "simgpu/thunks.hpp"

namespace refrain::simgpu::curand {
namespace {

constexpr const char* kLibrary = "curand";
// Of a thread's work for one number, for the device's virtual time.
constexpr double kInstructionsPerNumber = 30;
constexpr std::uint32_t kMostDimensions = 20000;
constexpr std::uint32_t kDimensionsHere = 10;

struct Arguments {
  const char* call;
  Sequence* sequence;  // lives as long as the generator; it moves on when the kernel runs
  std::uint64_t address;
  Request request;
};

void generate(const Arguments& arguments, native::Memory& memory) {
  const Request& request = arguments.request;
  const std::size_t bytes = bytes_of(request.kind);
  void* out = memory.reach(arguments.address, request.count * bytes, bytes, native::kWrite, "the output");
  memory.count(kInstructionsPerNumber * static_cast<double>(request.count));
  arguments.sequence->fill(request, out);
}

constexpr std::uint32_t kArgumentBytes[] = {sizeof(Arguments)};
constexpr native::Kernel kKernels[] = {
    {"curand_generate", kArgumentBytes, 1, &native::body<Arguments, &generate>}};

native::Client& client() {
  static auto* instance = new native::Client(kLibrary, kKernels);
  return *instance;
}

curandStatus_t refuse(const std::string& what) {
  native::say_unsupported(kLibrary, what.c_str());
  return CURAND_STATUS_TYPE_ERROR;
}

template <Name kName>
curandStatus_t absent() {
  native::say_unsupported(kLibrary, kName.characters);
  return CURAND_STATUS_INTERNAL_ERROR;
}

}  // namespace
}  // namespace refrain::simgpu::curand

using namespace refrain::simgpu;
using namespace refrain::simgpu::curand;

// What a curandGenerator_t is. Thread safety: as documented, one thread at a time; the sequences are the
// device's once a kernel knows them.
struct curandGenerator_st {
  CUcontext context = nullptr;  // current when it was made
  Setup setup;                  // its offset moves on with each call
  bool on_host = false;
  CUstream stream = nullptr;
  std::vector<std::unique_ptr<Sequence>> sequences;  // the last is the current one; none: begin anew
  bool begun = false;
};

namespace {

curandStatus_t create(curandGenerator_t* out, curandRngType_t type, bool on_host) {
  if (out == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  if (type == CURAND_RNG_PSEUDO_DEFAULT) type = CURAND_RNG_PSEUDO_XORWOW;
  if (type == CURAND_RNG_QUASI_DEFAULT) type = CURAND_RNG_QUASI_SOBOL32;
  if (!exists(type)) return refuse("generator type " + std::to_string(type));
  auto generator = std::make_unique<curandGenerator_st>();
  if (!on_host &&
      (client().start() != CUDA_SUCCESS || client().make_current(&generator->context) != CUDA_SUCCESS)) {
    return CURAND_STATUS_INITIALIZATION_FAILED;
  }
  generator->setup.type = type;
  generator->on_host = on_host;
  *out = generator.release();
  return CURAND_STATUS_SUCCESS;
}

template <class Body>
curandStatus_t with_generator(curandGenerator_t generator, Body body) noexcept {
  if (generator == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  try {
    return body(*generator);
  } catch (const std::bad_alloc&) {
    return CURAND_STATUS_ALLOCATION_FAILED;
  } catch (const std::exception& error) {
    native::say(kLibrary, error.what());
    return CURAND_STATUS_INTERNAL_ERROR;
  }
}

// A change that makes the sequence begin anew.
template <class Change>
curandStatus_t change(curandGenerator_t generator, Change apply) {
  return with_generator(generator, [&](curandGenerator_st& state) {
    const curandStatus_t status = apply(state);
    if (status == CURAND_STATUS_SUCCESS) state.begun = false;
    return status;
  });
}

bool is_quasi(const curandGenerator_st& generator) {
  return generator.setup.type >= CURAND_RNG_QUASI_DEFAULT;
}

curandStatus_t run(curandGenerator_t generator, const char* call, void* out, const Request& request) {
  return with_generator(generator, [&](curandGenerator_st& state) {
    const curandStatus_t status = curand::check(state.setup, request);
    if (status != CURAND_STATUS_SUCCESS) return status;
    const bool distribution = request.kind != Kind::kBits && request.kind != Kind::kLongLong &&
                              request.kind != Kind::kUniform && request.kind != Kind::kUniformDouble;
    if (is_quasi(state) && distribution) return refuse(std::string(call) + " of a quasirandom generator");
    if (request.count == 0) return CURAND_STATUS_SUCCESS;
    if (!state.begun) state.sequences.push_back(make_sequence(state.setup));
    state.begun = true;
    state.setup.offset += advance_of(state.setup, request);
    if (state.on_host) {
      state.sequences.back()->fill(request, out);
      return CURAND_STATUS_SUCCESS;
    }
    const Arguments arguments{call, state.sequences.back().get(), reinterpret_cast<std::uint64_t>(out),
                              request};
    return client().launch(0, &arguments, state.context, state.stream) == CUDA_SUCCESS
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_LAUNCH_FAILURE;
  });
}

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* out, curandRngType_t type) {
  return create(out, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* out, curandRngType_t type) {
  return create(out, type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  return with_generator(generator, [&](curandGenerator_st& state) {
    // Kernels that are queued still move its sequences on.
    if (!state.on_host) {
      const native::InContext there(client(), state.context);
      if (there.result() == CUDA_SUCCESS) {
        client().driver().cuStreamSynchronize(state.stream);
        client().driver().cuCtxSynchronize();
      }
    }
    delete &state;
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandGetVersion(int* version) {
  if (version == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CURAND_STATUS_OUT_OF_RANGE;
  switch (type) {
    case MAJOR_VERSION: *value = CURAND_VER_MAJOR; return CURAND_STATUS_SUCCESS;
    case MINOR_VERSION: *value = CURAND_VER_MINOR; return CURAND_STATUS_SUCCESS;
    case PATCH_LEVEL: *value = CURAND_VER_PATCH; return CURAND_STATUS_SUCCESS;
  }
  return CURAND_STATUS_OUT_OF_RANGE;
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  return with_generator(generator, [&](curandGenerator_st& state) {
    state.stream = stream;
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  return change(generator, [&](curandGenerator_st& state) {
    if (is_quasi(state)) return CURAND_STATUS_TYPE_ERROR;
    state.setup.seed = seed;
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  return change(generator, [&](curandGenerator_st& state) {
    state.setup.offset = offset;
    return CURAND_STATUS_SUCCESS;
  });
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int dimensions) {
  return change(generator, [&](curandGenerator_st& state) {
    if (!is_quasi(state)) return CURAND_STATUS_TYPE_ERROR;
    if (dimensions == 0 || dimensions > kMostDimensions) return CURAND_STATUS_OUT_OF_RANGE;
    if (dimensions > kDimensionsHere) return refuse("a quasirandom generator of more than 10 dimensions");
    state.setup.dimensions = dimensions;
    return CURAND_STATUS_SUCCESS;
  });
}
// All orders that promise a sequence promise the same one here; the dynamic one promises none.
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  return with_generator(generator, [&](curandGenerator_st& state) {
    switch (order) {
      case CURAND_ORDERING_PSEUDO_BEST:
      case CURAND_ORDERING_PSEUDO_DEFAULT:
      case CURAND_ORDERING_PSEUDO_LEGACY:
        return is_quasi(state) ? CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_SUCCESS;
      case CURAND_ORDERING_PSEUDO_DYNAMIC:
        return is_quasi(state) || state.on_host ? CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_SUCCESS;
      case CURAND_ORDERING_PSEUDO_SEEDED:
        if (is_quasi(state)) return CURAND_STATUS_OUT_OF_RANGE;
        return refuse("CURAND_ORDERING_PSEUDO_SEEDED");
      case CURAND_ORDERING_QUASI_DEFAULT:
        return is_quasi(state) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_OUT_OF_RANGE;
    }
    return CURAND_STATUS_OUT_OF_RANGE;
  });
}
// Seeds are made when they are first needed.
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return with_generator(generator, [](curandGenerator_st&) { return CURAND_STATUS_SUCCESS; });
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int* out, size_t count) {
  return run(generator, "curandGenerate", out, {Kind::kBits, count});
}
curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long* out, size_t count) {
  return run(generator, "curandGenerateLongLong", out, {Kind::kLongLong, count});
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t count) {
  return run(generator, "curandGenerateUniform", out, {Kind::kUniform, count});
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t count) {
  return run(generator, "curandGenerateUniformDouble", out, {Kind::kUniformDouble, count});
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t count, float mean,
                                    float deviation) {
  return run(generator, "curandGenerateNormal", out, {Kind::kNormal, count, mean, deviation});
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t count, double mean,
                                          double deviation) {
  return run(generator, "curandGenerateNormalDouble", out, {Kind::kNormalDouble, count, mean, deviation});
}
curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float* out, size_t count, float mean,
                                       float deviation) {
  return run(generator, "curandGenerateLogNormal", out, {Kind::kLogNormal, count, mean, deviation});
}
curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double* out, size_t count,
                                             double mean, double deviation) {
  return run(generator, "curandGenerateLogNormalDouble", out,
             {Kind::kLogNormalDouble, count, mean, deviation});
}
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int* out, size_t count,
                                     double lambda) {
  if (!(lambda > 0 && lambda <= 400000)) return CURAND_STATUS_OUT_OF_RANGE;
  return run(generator, "curandGeneratePoisson", out, {Kind::kPoisson, count, lambda});
}

#define CURAND_FUNCTION(symbol)
#define CURAND_ABSENT(symbol)                                                                                \
  SIMGPU_TARGET simgpu_target_##symbol = reinterpret_cast<void*>(&refrain::simgpu::curand::absent<#symbol>); \
  SIMGPU_JUMP(#symbol)
asm(".text");
#include "simgpu/curand/functions.def"
#undef CURAND_FUNCTION
#undef CURAND_ABSENT
