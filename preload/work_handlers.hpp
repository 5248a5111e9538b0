// Copies, fills and launches.
#pragma once

#include "preload/handlers.hpp"

namespace refrain::preload {

template <Hook H>
CUresult copy_from_host(CUdeviceptr to, const void* from, std::size_t bytes) {
  const auto call = [&] { return real<H>(to, from, bytes); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_from_host(resolve<H>(nullptr), to, from, bytes, true, call) : call();
}
template <Hook H>
CUresult copy_from_host_async(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  const auto call = [&] { return real<H>(to, from, bytes, stream); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_from_host(resolve<H>(stream), to, from, bytes, false, call) : call();
}

template <Hook H>
CUresult copy_to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  const auto call = [&] { return real<H>(to, from, bytes); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_to_host(resolve<H>(nullptr), from, bytes, true, call) : call();
}
template <Hook H>
CUresult copy_to_host_async(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const auto call = [&] { return real<H>(to, from, bytes, stream); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_to_host(resolve<H>(stream), from, bytes, false, call) : call();
}

template <Hook H>
CUresult copy_any(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const auto call = [&] { return real<H>(to, from, bytes); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_any(resolve<H>(nullptr), to, from, bytes, call) : call();
}
template <Hook H>
CUresult copy_any_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const auto call = [&] { return real<H>(to, from, bytes, stream); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_any(resolve<H>(stream), to, from, bytes, call) : call();
}

template <Hook H>
CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   std::size_t bytes) {
  const auto call = [&] { return real<H>(to, to_context, from, from_context, bytes); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_any(resolve<H>(nullptr), to, from, bytes, call) : call();
}
template <Hook H>
CUresult copy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                         std::size_t bytes, CUstream stream) {
  const auto call = [&] { return real<H>(to, to_context, from, from_context, bytes, stream); };
  cuda::Runtime* r = runtime();
  return r ? r->copy_any(resolve<H>(stream), to, from, bytes, call) : call();
}

template <Hook H, class Element>
CUresult set_memory(CUdeviceptr to, Element value, std::size_t count) {
  const auto call = [&] { return real<H>(to, value, count); };
  cuda::Runtime* r = runtime();
  return r ? r->set_memory(resolve<H>(nullptr), to, value, sizeof value, count, call) : call();
}
template <Hook H, class Element>
CUresult set_memory_async(CUdeviceptr to, Element value, std::size_t count, CUstream stream) {
  const auto call = [&] { return real<H>(to, value, count, stream); };
  cuda::Runtime* r = runtime();
  return r ? r->set_memory(resolve<H>(stream), to, value, sizeof value, count, call) : call();
}
template <Hook H>
CUresult set_d8(CUdeviceptr to, unsigned char value, std::size_t count) {
  return set_memory<H>(to, value, count);
}
template <Hook H>
CUresult set_d8_async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return set_memory_async<H>(to, value, count, stream);
}
template <Hook H>
CUresult set_d16(CUdeviceptr to, unsigned short value, std::size_t count) {
  return set_memory<H>(to, value, count);
}
template <Hook H>
CUresult set_d16_async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  return set_memory_async<H>(to, value, count, stream);
}
template <Hook H>
CUresult set_d32(CUdeviceptr to, unsigned int value, std::size_t count) {
  return set_memory<H>(to, value, count);
}
template <Hook H>
CUresult set_d32_async(CUdeviceptr to, unsigned int value, std::size_t count, CUstream stream) {
  return set_memory_async<H>(to, value, count, stream);
}

template <Hook H>
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** params, void** extra) {
  const auto call = [&] {
    return real<H>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params,
                   extra);
  };
  cuda::Runtime* r = runtime();
  if (!r) return call();
  return r->launch(resolve<H>(stream),
                   {.function = function,
                    .grid = {grid_x, grid_y, grid_z},
                    .block = {block_x, block_y, block_z},
                    .shared_bytes = shared_bytes,
                    .params = params,
                    .extra = extra,
                    .plain = true},
                   call);
}

template <Hook H>
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  const auto call = [&] { return real<H>(config, function, params, extra); };
  cuda::Runtime* r = runtime();
  if (!r || !config) return call();
  return r->launch(resolve<H>(config->hStream),
                   {.function = function,
                    .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                    .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                    .shared_bytes = config->sharedMemBytes,
                    .params = params,
                    .extra = extra,
                    .plain = config->numAttrs == 0},
                   call);
}

}  // namespace refrain::preload
