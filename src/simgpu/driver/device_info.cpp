// cuInit and the cuDevice* queries. It must not hold contexts (context.cpp).
#include <fmt/format.h>

#include <cstring>

#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr int kDriverVersion = 13000;
constexpr char kBusId[] = "0000:01:00.0";

int attribute_value(CUdevice_attribute attribute) {
  const Profile& device = profile();
  switch (attribute) {
#define DEVICE_ATTRIBUTE(name, value) \
  case CU_DEVICE_ATTRIBUTE_##name:    \
    return static_cast<int>(value);
#include "simgpu/driver/attributes.def"
#undef DEVICE_ATTRIBUTE
    default: return 0;
  }
}

template <class Body>
CUresult with_device(CUdevice ordinal, Body body) {
  return api(Need::kDevice, [&](Session& session) {
    require(ordinal == 0, CUDA_ERROR_INVALID_DEVICE);
    body(session.device);
  });
}

void copy_text(char* out, int length, std::string_view text) {
  require(out != nullptr && length > 0);
  const auto count = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  std::memcpy(out, text.data(), count);
  out[count] = '\0';
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return start_device();
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  return api(Need::kDevice, [&](Session&) {
    require(count != nullptr);
    *count = 1;
  });
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  return with_device(ordinal, [&](Device&) {
    require(out != nullptr);
    *out = 0;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  return with_device(ordinal, [&](Device&) { copy_text(name, length, "simgpu"); });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return with_device(ordinal, [&](Device&) {
    require(uuid != nullptr);
    std::memcpy(uuid->bytes, "simgpu-device-0", sizeof(uuid->bytes));
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return cuDeviceGetUuid_v2(uuid, ordinal);
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice ordinal) {
  return with_device(ordinal, [&](Device& device) {
    require(bytes != nullptr);
    *bytes = device.memory.physical_total_bytes();
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  return with_device(ordinal, [&](Device&) {
    require(value != nullptr && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX);
    *value = attribute_value(attribute);
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  return with_device(ordinal, [&](Device&) {
    require(major != nullptr && minor != nullptr);
    *major = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    *minor = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice ordinal) {
  return with_device(ordinal, [&](Device&) { copy_text(text, length, kBusId); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* text) {
  return with_device(0, [&](Device&) {
    require(out != nullptr && text != nullptr);
    require(std::string_view(text) == kBusId, CUDA_ERROR_INVALID_DEVICE);
    *out = 0;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
  return with_device(ordinal, [&](Device&) {
    require(can != nullptr);
    require(peer == 0, CUDA_ERROR_INVALID_DEVICE);
    *can = 0;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice ordinal, CUdevice peer) {
  return with_device(ordinal, [&](Device&) {
    require(value != nullptr && peer != ordinal);
    throw CudaError(CUDA_ERROR_INVALID_DEVICE);  // there is no other
  });
}
