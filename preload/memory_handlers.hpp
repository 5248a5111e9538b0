// Allocation, and questions about memory.
#pragma once

#include "preload/external_memory.hpp"
#include "preload/handlers.hpp"

namespace refrain::preload {

// Makes the real call with the bytes counted; add remembers what it returned.
template <class RealCall, class Add>
CUresult count_external(std::size_t bytes, RealCall&& real_call, Add&& add) {
  cuda::Runtime* op = runtime_of_op();
  cuda::Runtime* r = runtime();
  if (!r && !op) return real_call();
  const CUresult result = op ? op->library_allocates(bytes, real_call) : r->external(bytes, real_call);
  if (result == CUDA_SUCCESS) add();
  return result;
}

// After the real call: remove tells how many bytes are the driver's again.
template <class Remove>
CUresult release_external(CUresult result, Remove&& remove) {
  cuda::Runtime* op = runtime_of_op();
  cuda::Runtime* r = runtime();
  if (result != CUDA_SUCCESS || (!r && !op)) return result;
  const std::size_t bytes = remove();
  if (bytes == 0) return result;
  if (op) {
    op->library_frees(bytes);
  } else {
    r->external_freed(bytes);
  }
  return result;
}

// What a library allocates for itself: it must be there whenever the library runs, so it is not managed.
template <class RealCall>
std::optional<CUresult> allocate_for_library(CUdeviceptr* out, std::size_t bytes, RealCall&& real_call) {
  if (cuda::inside_library == cuda::Inside::kNothing || !Session::instance().managing()) return std::nullopt;
  const std::size_t pages = Session::instance().runtime().library_pages(bytes);
  return count_external(pages, real_call, [&] { ExternalMemory::instance().add_allocation(*out, pages); });
}

// Not managed: the driver frees it.
template <class RealCall>
CUresult free_external(CUdeviceptr address, RealCall&& real_call) {
  cuda::Runtime* op = runtime_of_op();
  if (op && op->free_inside_library(address)) return CUDA_SUCCESS;
  return release_external(real_call(), [&] { return ExternalMemory::instance().remove_allocation(address); });
}

template <Hook H>
CUresult mem_alloc(CUdeviceptr* out, std::size_t bytes) {
  const auto call = [&] { return real<H>(out, bytes); };
  if (const auto result = allocate_for_library(out, bytes, call)) return *result;
  cuda::Runtime* r = runtime();
  const auto result = r ? r->allocate(out, bytes) : std::nullopt;
  return result ? *result : call();
}

template <Hook H>
CUresult mem_alloc_pitch(CUdeviceptr* out, std::size_t* pitch, std::size_t width, std::size_t height,
                         unsigned element) {
  cuda::Runtime* r = runtime();
  const auto result = r ? r->allocate_pitch(out, pitch, width, height) : std::nullopt;
  return result ? *result : real<H>(out, pitch, width, height, element);
}

template <Hook H>
CUresult mem_free(CUdeviceptr address) {
  cuda::Runtime* r = runtime();
  const auto result = r ? r->free(address) : std::nullopt;
  return result ? *result : free_external(address, [&] { return real<H>(address); });
}

// A captured allocation is a node of a graph, and the graph's own memory.
template <Hook H>
CUresult mem_alloc_async(CUdeviceptr* out, std::size_t bytes, CUstream stream) {
  const auto call = [&] { return real<H>(out, bytes, stream); };
  cuda::Runtime* r = runtime();
  if (r && r->is_capturing(resolve<H>(stream))) return call();
  if (const auto result = allocate_for_library(out, bytes, call)) return *result;
  const auto result = r ? r->allocate(out, bytes) : std::nullopt;
  return result ? *result : call();
}

template <Hook H>
CUresult mem_alloc_from_pool(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  const auto call = [&] { return real<H>(out, bytes, pool, stream); };
  cuda::Runtime* r = runtime();
  if (r && r->is_capturing(resolve<H>(stream))) return call();
  if (const auto result = allocate_for_library(out, bytes, call)) return *result;
  const auto result = r ? r->allocate(out, bytes) : std::nullopt;
  return result ? *result : call();
}

template <Hook H>
CUresult mem_pool_set_access(CUmemoryPool pool, const CUmemAccessDesc* wanted, std::size_t count) {
  const CUresult result = real<H>(pool, wanted, count);
  cuda::Runtime* r = runtime();
  for (std::size_t i = 0; result == CUDA_SUCCESS && r && i < count; ++i) {
    const bool opens = wanted[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                       wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (opens) r->pool_opened(wanted[i].location.id);
  }
  return result;
}

template <Hook H>
CUresult mem_free_async(CUdeviceptr address, CUstream stream) {
  cuda::Runtime* r = runtime();
  if (r && r->is_capturing(resolve<H>(stream))) return real<H>(address, stream);
  const auto result = r ? r->free(address) : std::nullopt;
  return result ? *result : free_external(address, [&] { return real<H>(address, stream); });
}

template <Hook H>
CUresult mem_alloc_managed(CUdeviceptr* out, std::size_t bytes, unsigned flags) {
  const auto call = [&] { return real<H>(out, bytes, flags); };
  return count_external(bytes, call, [&] { ExternalMemory::instance().add_allocation(*out, bytes); });
}

template <Hook H>
CUresult mem_create(CUmemGenericAllocationHandle* out, std::size_t bytes,
                    const CUmemAllocationProp* properties, unsigned long long flags) {
  const auto call = [&] { return real<H>(out, bytes, properties, flags); };
  const bool on_device = properties && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (!on_device) return call();
  return count_external(bytes, call, [&] { ExternalMemory::instance().add_handle(*out, bytes); });
}

template <Hook H>
CUresult mem_release(CUmemGenericAllocationHandle handle) {
  return release_external(real<H>(handle), [&] { return ExternalMemory::instance().remove_handle(handle); });
}

template <Hook H>
CUresult mem_map(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const CUresult result = real<H>(address, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS) ExternalMemory::instance().add_mapping(address, handle);
  return result;
}

template <Hook H>
CUresult mem_unmap(CUdeviceptr address, std::size_t bytes) {
  return release_external(real<H>(address, bytes),
                          [&] { return ExternalMemory::instance().remove_mappings(address, bytes); });
}

template <Hook H>
CUresult mem_get_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  cuda::Runtime* r = runtime();
  const auto result = r ? r->memory_info(free_bytes, total_bytes) : std::nullopt;
  return result ? *result : real<H>(free_bytes, total_bytes);
}

template <Hook H>
CUresult device_total_mem(std::size_t* bytes, CUdevice device) {
  const CUresult result = real<H>(bytes, device);
  cuda::Runtime* r = runtime();
  if (result == CUDA_SUCCESS && bytes && r) *bytes = r->total_bytes(*bytes);
  return result;
}

template <Hook H>
CUresult mem_get_address_range(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  cuda::Runtime* r = runtime();
  const auto result = r ? r->address_range(base, bytes, address) : std::nullopt;
  return result ? *result : real<H>(base, bytes, address);
}

// The driver knows an address only while something is mapped there; and it knows our pages, not the program's
// allocation.
template <Hook H>
CUresult pointer_get_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  cuda::Runtime* r = runtime();
  if (!r || !r->touch(address)) return real<H>(data, attribute, address);
  const CUresult result = real<H>(data, attribute, address);
  if (result == CUDA_SUCCESS) r->correct_attribute(attribute, data, address);
  return result;
}

template <Hook H>
CUresult pointer_get_attributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr address) {
  cuda::Runtime* r = runtime();
  const bool ours = r && r->touch(address);
  const CUresult result = real<H>(count, attributes, data, address);
  for (unsigned i = 0; ours && result == CUDA_SUCCESS && i < count; ++i) {
    r->correct_attribute(attributes[i], data[i], address);
  }
  return result;
}

// These hand our pages to somebody else: they must stay where they are from then on.
template <Hook H>
CUresult mem_retain_allocation_handle(CUmemGenericAllocationHandle* handle, void* address) {
  cuda::Runtime* r = runtime();
  const CUresult pinned = r ? r->pin(reinterpret_cast<CUdeviceptr>(address)) : CUDA_SUCCESS;
  return pinned == CUDA_SUCCESS ? real<H>(handle, address) : pinned;
}

template <Hook H>
CUresult mem_get_handle_for_address_range(void* handle, CUdeviceptr address, std::size_t bytes,
                                          CUmemRangeHandleType type, unsigned long long flags) {
  cuda::Runtime* r = runtime();
  const CUresult pinned = r ? r->pin(address) : CUDA_SUCCESS;
  return pinned == CUDA_SUCCESS ? real<H>(handle, address, bytes, type, flags) : pinned;
}

}  // namespace refrain::preload
