// The engine's port on the driver: address ranges, physical handles, mappings, replays, and the order between
// what the program issued and what refrain issues. Decides nothing about residency.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "cuda/digester.hpp"
#include "cuda/host_pool.hpp"
#include "cuda/recorded_op.hpp"
#include "cuda/replayer.hpp"
#include "cuda/streams.hpp"
#include "cuda/transfer_times.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"

namespace refrain::cuda {

class CudaDevice final : public engine::Device {
 public:
  struct Place {
    CUdevice device;
    CUcontext context;
    std::uint64_t granularity_bytes;
  };
  CudaDevice(const Driver& driver, Streams& streams, const Place& place);

  // Called when a range of the caller's may be used again. It must not call the engine.
  std::function<void(engine::BufferId, CUdeviceptr)> on_release_placed;
  // The driver has refused some of refrain's own work with an error that it had not given before.
  std::function<void(const char* what, CUresult)> on_refusal;

  CUdeviceptr address(engine::BufferId buffer) const { return buffers_[buffer.index].base; }
  // Where a buffer lies that the caller gave its range.
  struct Placement {
    CUdeviceptr base;          // of the first page that it reaches into
    engine::Bytes bytes;       // of all those pages
    CUdeviceptr own_base;      // of the pages that are its own
    engine::Bytes own_bytes;   // 0: none
    engine::Bytes skip_bytes;  // from base to its contents, which share their outermost pages
    engine::Bytes content_bytes;
  };
  void place(engine::BufferId buffer, const Placement& placement);
  // How many bytes of a buffer with a range of its own the program has asked for.
  void set_asked(engine::BufferId buffer, engine::Bytes bytes) { buffers_[buffer.index].asked_bytes = bytes; }

  // Where replays go until the next call: the stream of the op that is being prepared.
  void set_stream(StreamIndex stream) { stream_ = stream; }
  // The op that was prepared is about to be issued on the stream, or has been. Its waits cover only what
  // refrain itself did on other streams: the program's own order is the program's.
  CUresult order_before(StreamIndex stream, std::span<const engine::BufferUse> uses);
  void issued(StreamIndex stream, std::span<const engine::BufferUse> uses, bool mark);
  // A range that another allocation used before: whoever takes it must wait for what that one issued. false:
  // there is work that cannot be waited for now.
  bool recycled(engine::BufferId buffer);
  // Work was issued that nobody followed: nothing is unmapped or handed on before the context has been idle
  // once.
  void unfollowed_work() { unfollowed_work_ = true; }
  // The same for a call that is made after the lock is given up: between the two it may come at any moment.
  void unfollowed_call_begins() { ++unfollowed_calls_; }
  void unfollowed_call_ended() {
    --unfollowed_calls_;
    unfollowed_work_ = true;
  }
  // The address lies in a range of ours, or in the unused rest behind one.
  bool near_ours(CUdeviceptr address) const;
  // Blocks until no buffer is touched by refrain's own work on any stream.
  void wait_for_own_work();
  // As measured since the last call; nullopt: nothing new.
  std::optional<engine::TransferCost> transfer_cost() { return transfers_.collect(); }
  // The context is idle and about to go, or gone already, and with it events and graphs.
  void forget_contexts(bool alive);
  void set_context(CUcontext context) { context_ = context; }
  // Another device may use all that is and will be mapped, until the contexts are forgotten.
  void open_to(CUdevice peer);

  RecordedOp& new_record(engine::Payload& payload);
  const RecordedOp& record(engine::Payload payload) const { return records_[payload]; }
  CUresult last_error() const noexcept { return last_error_; }

  bool reserve(engine::BufferId buffer, engine::Bytes bytes) override;
  std::optional<engine::PagesId> create_pages(engine::Bytes bytes) override;
  void destroy_pages(engine::PagesId pages) override;
  bool map(engine::BufferId buffer, engine::PagesId pages) override;
  bool unmap(engine::BufferId buffer) override;
  void replay(engine::Payload payload, std::span<const engine::BufferId> bindings) override;
  void copy(engine::BufferId from, engine::BufferId to, engine::Bytes bytes) override;
  void fill(engine::BufferId buffer, engine::Bytes bytes) override;
  void copy_in(engine::HostId from, engine::BufferId to, engine::Bytes bytes) override;
  bool flush() override;
  std::optional<engine::HostId> create_host(engine::Bytes bytes) override;
  void destroy_host(engine::HostId host) override;
  bool copy_out(engine::BufferId from, engine::HostId to, engine::Bytes bytes) override;
  std::optional<engine::Digest> digest(engine::BufferId buffer) override;
  void release_payload(engine::Payload payload) override;
  void release_placed(engine::BufferId buffer) override;

 private:
  struct Touch {
    StreamIndex stream;
    std::uint64_t work;
    bool own;  // the program does not know of it
  };
  struct BufferState {
    CUdeviceptr base = 0;
    engine::Bytes bytes = 0;
    CUdeviceptr own_base = 0;
    engine::Bytes own_bytes = 0;
    engine::Bytes skip_bytes = 0;
    engine::Bytes content_bytes = 0;  // 0: all of it
    engine::Bytes asked_bytes = 0;    // by the program that has it; the rest of the last page is nobody's
    std::vector<Touch> touches;       // at most two a stream
  };

  struct HostState {
    void* pointer = nullptr;  // nullptr: it went with its context
    engine::Bytes bytes = 0;
    std::vector<Touch> touches;
  };
  struct Region {
    engine::Bytes skip_bytes;
    engine::Bytes bytes;
  };

  static void touch(std::vector<Touch>& touches, StreamIndex stream, std::uint64_t work, bool own);
  static Region region_of(const BufferState& buffer, engine::Bytes bytes);
  StreamIndex copy_stream();
  CUresult order_after(StreamIndex stream, const std::vector<Touch>& touches);
  // what: of refrain's own work, for messages.
  void note(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    last_error_ = result;
    tell(what, result);
  }
  void tell(const char* what, CUresult result) {
    if (on_refusal && refusals_.insert(result).second) on_refusal(what, result);
  }
  CUresult set_access(const BufferState& buffer);
  bool queued(engine::BufferId buffer) const;
  CUresult launch_queue();
  bool wait_for_unfollowed();
  bool wait_for_touches(BufferState& buffer);

  const Driver& driver_;
  Streams& streams_;
  Replayer replayer_;
  CUdevice device_;
  CUcontext context_;
  std::set<CUdevice> peers_;
  std::uint64_t granularity_bytes_;
  StreamIndex stream_ = 0;
  bool unfollowed_work_ = false;
  int unfollowed_calls_ = 0;
  bool queue_failed_ = false;
  CUresult last_error_ = CUDA_SUCCESS;
  std::set<CUresult> refusals_;  // that were told
  std::vector<BufferState> buffers_;
  std::vector<CUmemGenericAllocationHandle> pages_;
  std::vector<engine::Bytes> pages_bytes_;
  std::vector<std::uint32_t> free_pages_;
  std::vector<RecordedOp> records_;
  std::vector<engine::Payload> free_records_;
  std::vector<BoundOp> queue_;
  std::vector<std::vector<engine::BufferId>> queue_buffers_;
  std::vector<engine::HostId> queue_hosts_;
  HostPool host_pool_;
  Digester digester_;
  TransferTimes transfers_;
  CUstream copy_stream_ = nullptr;
  std::vector<HostState> hosts_;
  std::vector<std::uint32_t> free_hosts_;
};

}  // namespace refrain::cuda
