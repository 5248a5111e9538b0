// cuPointer* and cuMemGetAddressRange: what an address is. It must not change anything.
#include <cstring>

#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/managed.hpp"
#include "simgpu/driver/session.hpp"

namespace refrain::simgpu::driver {
namespace {

struct Known {
  bool on_device = false;
  std::uint64_t base = 0, bytes = 0;
  bool virtual_memory = false;
  bool managed = false;
  bool mapped = true;  // kernels reach it
  Ordinal owner = 0;   // the device
  const Context* context = nullptr;

  bool has_device_pointer() const { return mapped; }
  bool has_host_pointer() const { return !on_device || managed; }
};

// Of a device's memory that no call of a context gave, such as a variable.
const Context* context_on(const Session& session, Ordinal ordinal) {
  if (session.context->ordinal == ordinal) return session.context.get();
  return session.device.cards[ordinal].primary.get();
}

std::optional<Known> look_up(const Session& session, CUdeviceptr address) {
  const Device& device = session.device;
  if (const auto* managed = find_managed(device, address)) {
    const Ordinal owner = device.memory.owner_of(address).value_or(Ordinal{0});
    const Context* context = managed->second.context;
    if (context == nullptr) context = context_on(session, owner);
    return Known{true, managed->first, managed->second.bytes, false, true, true, owner, context};
  }
  if (const auto* range = find_host_range(device, reinterpret_cast<const void*>(address), 1)) {
    const HostRange& known = range->second;
    return Known{false,       range->first,           known.bytes,        false, false,
                 known.owned, known.context->ordinal, known.context.get()};
  }
  if (const GraphMemory* memory = find_graph_memory(device, address)) {
    return Known{true,          memory->address,
                 memory->bytes, false,
                 false,         true,
                 memory->owner, context_on(session, memory->owner)};
  }
  if (device.memory.owns(address)) {
    const auto range = device.memory.range_of(address);
    if (!range) return std::nullopt;
    const Ordinal owner = device.memory.owner_of(address).value_or(Ordinal{0});
    const auto given = device.allocations.find(range->base);
    const bool mapping = device.mappings.contains(range->base);
    const Context* context = mapping                             ? nullptr
                             : given != device.allocations.end() ? given->second.context
                                                                 : context_on(session, owner);
    return Known{true, range->base, range->bytes, mapping, false, true, owner, context};
  }
  return std::nullopt;
}

template <class T>
void store(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

void answer(Session& session, const Known& known, CUpointer_attribute attribute, CUdeviceptr address,
            void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return store<const void*>(out, known.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return store<unsigned>(out, known.on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: require(known.has_device_pointer()); return store(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: require(known.has_host_pointer()); return store(out, address);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return store<unsigned char>(out, 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return store<unsigned char>(out, known.managed ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return store<unsigned long long>(out, known.base);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return store<int>(out, known.owner);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return store(out, known.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return store<std::size_t>(out, known.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return store<unsigned char>(out, known.mapped ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return store<unsigned long long>(out, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return store<unsigned>(out, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: {
      const auto& all = session.device.allocations;
      const auto found = all.find(known.base);
      return store<const void*>(out, found == all.end() ? nullptr : found->second.pool.get());
    }
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return store<std::size_t>(out, known.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return store(out, known.base);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return store<unsigned long long>(out, known.base);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return store<unsigned char>(out, 0);
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

std::size_t bytes_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED: return 1;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return 4;
    default: return 8;
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return api(Need::kContext, [&](Session& session) {
    const auto range = look_up(session, address);
    require(range.has_value() && range->on_device, CUDA_ERROR_NOT_FOUND);
    if (base != nullptr) *base = range->base;
    if (bytes != nullptr) *bytes = range->bytes;
  });
}

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  return api(Need::kContext, [&](Session& session) {
    const auto known = look_up(session, address);
    require(out != nullptr && known.has_value());
    answer(session, *known, attribute, address, out);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                CUdeviceptr address) {
  return api(Need::kContext, [&](Session& session) {
    require(attributes != nullptr && out != nullptr);
    const auto known = look_up(session, address);
    for (unsigned index = 0; index < count; ++index) {
      require(out[index] != nullptr);
      std::memset(out[index], 0, bytes_of(attributes[index]));
      if (!known) {
        if (attributes[index] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) store<int>(out[index], -2);
        continue;
      }
      const bool absent =
          (attributes[index] == CU_POINTER_ATTRIBUTE_HOST_POINTER && !known->has_host_pointer()) ||
          (attributes[index] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && !known->has_device_pointer());
      if (!absent) answer(session, *known, attributes[index], address, out[index]);
    }
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return api(Need::kContext, [&](Session& session) {
    const auto known = look_up(session, address);
    require(value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && known.has_value());
    if (known->virtual_memory) throw CudaError(CUDA_ERROR_NOT_SUPPORTED);
  });
}
