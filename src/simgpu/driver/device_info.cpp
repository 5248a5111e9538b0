// cuInit and the cuDevice* queries. It must not hold contexts (context.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "simgpu/driver/profile.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {
namespace {

constexpr int kDriverVersion = 13000;

std::string bus_id(const Card& card) {
  return fmt::format("0000:{:02x}:00.0", card.number + 1);
}

int attribute_value(CUdevice_attribute attribute, int number) {
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
CUresult with_card(CUdevice ordinal, Body body) {
  return api(Need::kDevice, [&](Session& session) { body(session, session.device.card(ordinal)); });
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
  return api(Need::kDevice, [&](Session& session) {
    require(count != nullptr);
    *count = static_cast<int>(session.device.cards.size());
  });
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  return with_card(ordinal, [&](Session&, Card&) {
    require(out != nullptr);
    *out = ordinal;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  return with_card(ordinal, [&](Session&, Card&) { copy_text(name, length, "simgpu"); });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return with_card(ordinal, [&](Session&, Card& card) {
    require(uuid != nullptr);
    const std::string text = fmt::format("simgpu-device-{}", card.number);
    std::memcpy(uuid->bytes, text.c_str(), sizeof(uuid->bytes));
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return cuDeviceGetUuid_v2(uuid, ordinal);
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice ordinal) {
  return with_card(ordinal, [&](Session& session, Card&) {
    require(bytes != nullptr);
    *bytes = session.device.memory.physical_total_bytes();
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  return with_card(ordinal, [&](Session&, Card& card) {
    require(value != nullptr && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX);
    *value = attribute_value(attribute, card.number);
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  return with_card(ordinal, [&](Session&, Card& card) {
    require(major != nullptr && minor != nullptr);
    *major = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, card.number);
    *minor = attribute_value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, card.number);
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice ordinal) {
  return with_card(ordinal, [&](Session&, Card& card) { copy_text(text, length, bus_id(card)); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* text) {
  return api(Need::kDevice, [&](Session& session) {
    require(out != nullptr && text != nullptr);
    const auto& cards = session.device.cards;
    const auto found =
        std::find_if(cards.begin(), cards.end(), [&](const Card& card) { return bus_id(card) == text; });
    require(found != cards.end(), CUDA_ERROR_INVALID_DEVICE);
    *out = static_cast<CUdevice>(found - cards.begin());
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
  return with_card(ordinal, [&](Session& session, Card& card) {
    require(can != nullptr);
    *can = &session.device.card(peer) != &card ? 1 : 0;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice ordinal,
                                 CUdevice peer) {
  return with_card(ordinal, [&](Session& session, Card& card) {
    require(value != nullptr);
    require(&session.device.card(peer) != &card, CUDA_ERROR_INVALID_DEVICE);
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; return;
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:  // all links are alike
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: *value = 0; return;
      default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
    }
  });
}
