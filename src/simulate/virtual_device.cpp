// Numbers for pages and host memory, and what calls take. Must not refuse.
#include "simulate/virtual_device.hpp"

#include <algorithm>

namespace refrain::simulate {
namespace {

template <class Id>
Id take(std::vector<Id>& free, std::uint32_t& made) {
  if (free.empty()) return Id{made++};
  const Id id = free.back();
  free.pop_back();
  return id;
}

}  // namespace

std::optional<engine::PagesId> VirtualDevice::create_pages(engine::Bytes) {
  now_ns_ += times_.mapping.create_ns;
  return take(free_pages_, pages_);
}

void VirtualDevice::destroy_pages(engine::PagesId pages) {
  now_ns_ += times_.mapping.destroy_ns;
  free_pages_.push_back(pages);
}

bool VirtualDevice::map(engine::BufferId, engine::PagesId) {
  now_ns_ += times_.mapping.map_ns;
  return true;
}

bool VirtualDevice::unmap(engine::BufferId) {
  now_ns_ += times_.mapping.unmap_ns;
  return true;
}

void VirtualDevice::replay(engine::Payload op, std::span<const engine::BufferId>) {
  queued_ = true;
  op_ns_ += trace_.ops[op].cost_ns;
  replayed_ns_ += trace_.ops[op].cost_ns;
  now_ns_ += std::max(0.0, trace_.ops[op].cost_ns - times_.launch_ns) + times_.node_ns;
}

bool VirtualDevice::flush() {
  if (queued_) now_ns_ += times_.launch_ns;
  queued_ = false;
  return true;
}

std::optional<engine::HostId> VirtualDevice::create_host(engine::Bytes) {
  return take(free_hosts_, hosts_);
}

bool VirtualDevice::copy_out(engine::BufferId, engine::HostId, engine::Bytes bytes) {
  now_ns_ += times_.host_copy(bytes);
  return true;
}

}  // namespace refrain::simulate
