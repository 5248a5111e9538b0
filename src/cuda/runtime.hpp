// What each call of the program means to the engine. The hooks hand their calls over with a way to make the
// real one; every function returns what the program is to get.
//
// Thread safety: one mutex, held for the length of each call, the real call included, because two launches
// must reach the driver in the order in which the engine saw them. Nothing here throws.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "cuda/addresses.hpp"
#include "cuda/arenas.hpp"
#include "cuda/cost_source.hpp"
#include "cuda/device.hpp"
#include "cuda/function_ref.hpp"
#include "cuda/kernels.hpp"
#include "cuda/known_contents.hpp"
#include "cuda/library_calls.hpp"
#include "cuda/slabs.hpp"
#include "cuda/streams.hpp"
#include "guide/guide.hpp"
#include "options/options.hpp"

namespace refrain::cuda {

using Call = FunctionRef<CUresult()>;

struct Launch {
  CUfunction function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** params;  // one pointer a parameter, or
  void** extra;   // the packed form
  bool plain;     // nothing beside this decides how it runs (clusters, cooperation): it may be replayed
};

struct Counters {
  std::uint64_t launches = 0;
  std::uint64_t unreplayable = 0;
  std::uint64_t barriers = 0;
  std::uint64_t unmanaged_bytes = 0;
  std::uint64_t unmanaged_peak_bytes = 0;
};

class Runtime {
 public:
  // note: one line for people; called at most three times for each kind.
  using Note = std::function<void(const std::string&)>;
  Runtime(const Driver& driver, engine::Observer& observer, const options::Options& options, Note note);

  std::mutex& mutex() noexcept { return mutex_; }

  // Memory. nullopt: not ours, make the real call.
  std::optional<CUresult> allocate(CUdeviceptr* out, std::size_t bytes);
  std::optional<CUresult> allocate_pitch(CUdeviceptr* out, std::size_t* pitch, std::size_t width,
                                         std::size_t height);
  std::optional<CUresult> free(CUdeviceptr address);
  std::optional<CUresult> memory_info(std::size_t* free_bytes, std::size_t* total_bytes);
  std::optional<CUresult> address_range(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address);
  // Maps the buffer behind the address, so that the driver knows it; false: not ours.
  bool touch(CUdeviceptr address);
  // Whose part, where it is divided, the address is in. nullopt: not ours.
  std::optional<engine::BufferId> buffer_at(CUdeviceptr address);
  // What the driver says of the pages behind an address, put right for the program's allocation.
  void correct_attribute(CUpointer_attribute attribute, void* data, CUdeviceptr address);
  // The buffer behind the address, if it is ours, is never evicted any more.
  CUresult pin(CUdeviceptr address);
  // The same for some bytes of it: where they are a tensor of their own, the rest may be evicted.
  CUresult pin_bytes(CUdeviceptr address, std::size_t bytes);
  // Device memory that the program has by other ways: counted.
  CUresult external(std::size_t bytes, Call call);
  void external_freed(std::size_t bytes);
  std::uint64_t total_bytes(std::uint64_t device_bytes) const;

  // Work
  CUresult launch(CUstream stream, const Launch& launch, Call call);
  // blocking: the call returns when the host's memory is no longer needed, and is made without the lock, so
  // that other threads go on.
  CUresult copy_from_host(CUstream stream, CUdeviceptr to, const void* from, std::size_t bytes, bool blocking,
                          Call call);
  CUresult copy_to_host(CUstream stream, CUdeviceptr from, std::size_t bytes, bool blocking, Call call);
  CUresult copy_any(CUstream stream, CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Call call);
  CUresult set_memory(CUstream stream, CUdeviceptr to, unsigned value, unsigned element_bytes,
                      std::size_t count, Call call);
  // For a call whose effects cannot be followed: everything is made resident first and counts as written
  // afterwards. The caller goes on to the real call; where begun is set, it says when that has returned, and
  // until then the call may be made at any moment.
  CUresult before_unfollowed(std::string_view name, bool& begun);
  void after_unfollowed();

  // A call of a library's function that is one op. nullopt: not one for us; each launch that it makes is then
  // a call of the program's. Otherwise `call` has been made, inside an op, or an error is returned instead.
  std::optional<CUresult> library_call(CUstream stream, std::span<const LibraryUse> uses, const LibraryOp& op,
                                       Call call);
  bool manages_current_context();
  // What the program has in [address, address + out.size()), if that is known.
  bool known_memory(CUdeviceptr address, std::span<std::byte> out);
  // Memory that a library allocates for itself takes whole pages of the device, and counts so.
  std::size_t library_pages(std::size_t bytes);
  // Only inside one op (`inside_one_op`): it takes memory by `call`, for which room is made first, but in a
  // replay, after which it counts; it has given some back; or has freed an address, which is false where that
  // is not managed.
  CUresult library_allocates(std::size_t bytes, Call call);
  void library_frees(std::size_t bytes);
  bool free_inside_library(CUdeviceptr address);
  // Called when the managed context is about to go (alive), or has gone. Under the lock.
  std::function<void(bool alive)> on_context_gone;

  // The current context's device may use the memory of that context from now on, ours with it; or a device
  // that of some pool, which ours may stand for.
  void peer_opened(CUcontext context);
  void pool_opened(CUdevice device);

  // Modules, streams, contexts
  Kernels& kernels() noexcept { return kernels_; }
  // Whether a module may really go: not while recorded ops would need its kernels for a replay. Then it stays
  // loaded, which the program cannot see.
  bool may_unload();
  void stream_destroyed(CUstream stream);
  CUresult begin_capture(Call call);
  CUresult end_capture(CUstream stream, Call call);
  bool is_capturing(CUstream stream);
  // The context is about to be destroyed, or the device's primary one to be reset.
  void context_gone(CUcontext context);
  void context_gone(CUdevice device);
  // The device's primary context may have gone with the last release.
  void context_released(CUdevice device);

  // For the summary; engine may be nullptr: nothing was allocated.
  const engine::Engine* engine() const noexcept { return engine_.get(); }
  const Counters& counters() const noexcept { return counters_; }
  guide::Guided guided() const { return guide_ ? guide_->totals() : guide::Guided{}; }
  // Under the lock: nothing is planned any more.
  void stop_planning() {
    if (guide_) guide_->stop();
  }
  // Under the lock. For people: where the durations of kernels come from.
  const std::string& cost_source() const noexcept { return costs_.description(); }
  // The program is about to use CUPTI, which serves one client at a time.
  void leave_cupti();
  std::uint64_t cap_bytes() const noexcept { return cap_bytes_; }
  // A recorded op, for people who want to repeat it: kernel, grid, block, shared bytes, parameter bytes.
  std::string describe(engine::Payload payload) const;
  // The kernel, the library's function, "memset" or "copy".
  std::string_view name_of(engine::Payload payload) const;

 private:
  // Fills the record of an op that can be replayed.
  using Fill = FunctionRef<void(RecordedOp&)>;
  struct Facts {
    CostKey cost;
    std::uint64_t bytes;
    bool kernel;  // or a library's function: it has to earn its trust
  };
  bool attach();
  void start_costs();
  CUresult external_locked(std::size_t bytes, Call call);
  void release_all(bool context_alive);
  // The managed context is current.
  bool active() const;
  // For a call of another context that uses `uses_`: they stay where they are until it is done.
  CUresult lend(CUstream stream, Call call);
  void settle_lent();
  void take_back(engine::BufferId buffer);
  bool opened_to_peers() const {
    return engine_ && context_ && (peers_.contains(context_) || !pool_peers_.empty());
  }
  void open_to_peers();
  bool capturing(CUstream stream) const;
  bool allocate_small(CUdeviceptr* out, std::size_t bytes);
  void begin_uses();
  std::uint32_t use(const Part& part, bool read, bool written, bool whole);
  std::uint32_t add_use(const Part& part, bool read, bool written, bool whole);
  bool host_reads(const void* from) const;
  // The buffers behind [begin, end) of an allocation; more than one only where it is divided. false: no
  // memory.
  bool find_parts(const Range& range, CUdeviceptr begin, CUdeviceptr end);
  bool find_all_parts(const Range& range) { return find_parts(range, range.base, range.base + range.bytes); }
  // Adds those to uses_; single: it is one, the last of uses_.
  bool use_bytes(const Range& range, CUdeviceptr begin, std::size_t bytes, bool read, bool written,
                 bool& single);
  CUresult pin_parts();
  bool make_part(Arena& arena, Part& part);
  bool complete_arenas();
  void finish_arenas();
  void free_range(const Range& range);
  // fill: nullptr for an op that cannot be replayed.
  CUresult issue(CUstream stream, const Facts& facts, Call call, const Fill* fill);
  CUresult issue_blocking(std::unique_lock<std::mutex>& lock, CUstream stream, Call call);
  CUresult issue_or_capture(CUstream stream, const Facts& facts, Call call, const Fill* fill);
  static Facts copy_facts(std::size_t bytes);
  bool outlives_failure(const engine::BufferUse& use) const;
  StreamIndex side_stream();
  engine::Status prepare(std::span<const engine::BufferUse> uses, bool replayable, std::uint32_t cost_class);
  CUresult error_of(engine::Status status) const;
  void collect_costs();
  bool gather(const Launch& launch, const Kernel& kernel);
  enum class Pointers { kKnown, kOutside, kWild, kNoMemory };
  Pointers bind(const Launch& launch, Kernel& kernel);
  struct Touched {
    bool read;
    bool written;
    std::int64_t begin, end;  // relative to the pointer; all that is read or written, unless anywhere
    bool reads_anywhere, writes_anywhere;
    bool anywhere() const noexcept { return reads_anywhere || writes_anywhere; }
  };
  Pointers bind_pointer(const Kernel& kernel, const access::PointerAccess& access, CUdeviceptr address);
  void divide(const Range& range, CUdeviceptr begin, CUdeviceptr end);
  Touched touched_in(const Part& part, CUdeviceptr address, const access::PointerAccess& access) const;
  void find_contents(const Kernel& kernel);
  void follow(const Launch& launch, Kernel& kernel);
  Touched touched_by(const access::PointerAccess& access) const;
  bool overwrites(const Part& part);
  CUresult barrier_locked(const void* key, FunctionRef<std::string()> name, Call call);
  bool may_note(const void* key);
  Pointers bind_library(std::span<const LibraryUse> uses);
  Pointers bind_library_use(const LibraryUse& library_use);
  CUresult issue_library_call(CUstream stream, std::span<const LibraryUse> uses, const LibraryOp& op,
                              bool known, Call call);
  // What libraries took and freed inside ops counts from now on.
  void settle_library();

  const Driver& driver_;
  engine::Observer& observer_;
  bool planned_ = false;        // the policy
  bool says_no_cupti_ = false;  // it was asked for
  bool recording_ = false;      // costs are wanted, whatever is evicted
  options::DeviceLimit limits_;
  options::Limit limit_;       // of the device that is managed
  engine::Settings settings_;  // but for what the device says
  Note note_;
  std::mutex mutex_;
  std::unordered_map<const void*, int> notes_;  // by what they are about

  bool unmanageable_ = false;
  CUcontext context_ = nullptr;
  CUdevice device_number_ = 0;
  std::uint64_t cap_bytes_ = engine::kNoCap;
  std::uint64_t granularity_bytes_ = 0;
  Streams streams_;
  CostSource costs_;
  std::unordered_map<std::uint64_t, engine::KernelIndex> kernel_numbers_;  // by what a cost key is about
  Kernels kernels_;
  Addresses addresses_;
  Slabs slabs_;
  Arenas arenas_;
  KnownContents contents_;
  std::set<CUdevice> pool_peers_;
  std::map<CUcontext, std::set<CUdevice>> peers_;  // that may use a context's memory; of all contexts
  // Buffers that work in other contexts uses, and the event behind that work, which is of that context.
  struct Lent {
    CUevent done;
    std::vector<engine::BufferId> buffers;
  };
  void end_lent(const Lent& lent);
  std::vector<Lent> lent_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<guide::ThreadedPlanning> planning_;
  std::unique_ptr<guide::Guide> guide_;  // none: nothing is planned
  std::unique_ptr<engine::Engine> engine_;
  CUstream side_stream_ = nullptr;
  int captures_ = 0;
  std::uint64_t device_bytes_ = 0;
  Counters counters_;
  std::int64_t library_bytes_ = 0;          // not yet counted
  std::uint64_t replay_bytes_ = 0;          // counted, for what replays are going to allocate
  std::vector<CUdeviceptr> library_freed_;  // not yet freed

  // Of the op being handled; members for their capacity.
  std::vector<engine::BufferUse> uses_;
  std::vector<std::byte> params_;
  std::vector<Part> use_parts_;  // what each use is of
  std::vector<PointerSlot> pointers_;
  std::vector<Part> parts_;
  std::vector<const access::Footprint*> footprints_;
  std::vector<access::KnownMemory> known_;
  std::vector<access::Range> must_write_;
};

}  // namespace refrain::cuda
