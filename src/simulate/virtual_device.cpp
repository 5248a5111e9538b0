// Numbers for pages and host memory, and what calls take. Must not refuse.
#include "simulate/virtual_device.hpp"

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
  now_ns_ += times_.create_ns;
  return take(free_pages_, pages_);
}

void VirtualDevice::destroy_pages(engine::PagesId pages) {
  now_ns_ += times_.create_ns;
  free_pages_.push_back(pages);
}

bool VirtualDevice::map(engine::BufferId, engine::PagesId) {
  now_ns_ += times_.map_ns;
  return true;
}

bool VirtualDevice::unmap(engine::BufferId) {
  now_ns_ += times_.map_ns;
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
