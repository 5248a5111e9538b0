// A device without bytes: the engine's port where nothing is computed and time is a sum. What is asked of it
// succeeds; whether that fits the cap is the engine's affair.
#pragma once

#include <vector>

#include "engine/device.hpp"
#include "engine/memory.hpp"
#include "engine/policy.hpp"
#include "simulate/trace.hpp"

namespace refrain::simulate {

// What a call takes, in ns. All zero: only ops take time, as in the published simulator.
struct DeviceTimes {
  engine::TransferCost host_copy = {.fixed_ns = 0, .ns_per_byte = 0};  // either way
  double device_ns_per_byte = 0;                                       // copies and fills on the device
  // cuMemCreate, cuMemRelease; cuMemMap with cuMemSetAccess, cuMemUnmap.
  engine::MappingCost mapping;
  // Of an op's own time as recorded, and what it is instead in the graph that brings values back, which
  // itself takes a launch.
  double launch_ns = 0;
  double node_ns = 0;
};

class VirtualDevice final : public engine::Device {
 public:
  // A payload is the number of an op of the trace, which must outlive the device.
  VirtualDevice(const Trace& trace, const DeviceTimes& times) : trace_(trace), times_(times) {}

  void run(engine::Payload op) {
    now_ns_ += trace_.ops[op].cost_ns;
    op_ns_ += trace_.ops[op].cost_ns;
  }
  double now_ns() const noexcept { return now_ns_; }
  // Of ops alone, as recorded, and of those that ran again.
  double op_ns() const noexcept { return op_ns_; }
  double replayed_ns() const noexcept { return replayed_ns_; }

  bool reserve(engine::BufferId, engine::Bytes) override { return true; }
  std::optional<engine::PagesId> create_pages(engine::Bytes) override;
  void destroy_pages(engine::PagesId pages) override;
  bool map(engine::BufferId, engine::PagesId) override;
  bool unmap(engine::BufferId) override;
  void replay(engine::Payload op, std::span<const engine::BufferId>) override;
  void copy(engine::BufferId, engine::BufferId, engine::Bytes bytes) override { move_on_device(bytes); }
  void fill(engine::BufferId, engine::Bytes bytes) override { move_on_device(bytes); }
  void copy_in(engine::HostId, engine::BufferId, engine::Bytes bytes) override {
    queued_ = true;
    now_ns_ += times_.host_copy(bytes);
  }
  bool flush() override;
  std::optional<engine::HostId> create_host(engine::Bytes) override;
  void destroy_host(engine::HostId host) override { free_hosts_.push_back(host); }
  bool copy_out(engine::BufferId, engine::HostId, engine::Bytes bytes) override;
  // There are no bytes: everything comes back as it was.
  std::optional<engine::Digest> digest(engine::BufferId) override { return engine::Digest{}; }
  void release_payload(engine::Payload) override {}
  void release_placed(engine::BufferId) override {}

 private:
  void move_on_device(engine::Bytes bytes) {
    queued_ = true;
    now_ns_ += times_.node_ns + static_cast<double>(bytes) * times_.device_ns_per_byte;
  }

  const Trace& trace_;
  const DeviceTimes times_;
  double now_ns_ = 0, op_ns_ = 0, replayed_ns_ = 0;
  bool queued_ = false;      // something for the next graph
  std::uint32_t pages_ = 0;  // ever made at once
  std::uint32_t hosts_ = 0;
  std::vector<engine::PagesId> free_pages_;
  std::vector<engine::HostId> free_hosts_;
};

}  // namespace refrain::simulate
