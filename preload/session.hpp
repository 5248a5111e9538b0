// The process: options, log, the runtime, and the summary when it ends. One object, made at the first look-up
// of a driver function and never destroyed.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/manifest.hpp"
#include "cuda/runtime.hpp"
#include "options/options.hpp"
#include "trace/recorder.hpp"
#include "trace/writer.hpp"

namespace refrain::preload {

// A time that the engine keeps as a fraction; never below zero.
inline std::uint64_t whole_ns(double ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
}

class Session final : private engine::Observer {
 public:
  static Session& instance();
  // nullptr: none has been made yet, or it is being made by this very call.
  static Session* existing() noexcept { return made.load(std::memory_order_acquire); }

  // Whether calls are to be handled. Otherwise each goes to the driver as it is: disabled, a bad option, a
  // driver that lacks what is needed, or a child after fork.
  bool managing() const noexcept { return managing_.load(std::memory_order_relaxed); }
  // A bad option, and the user wants that to be fatal.
  bool refuses_to_start() const noexcept { return refuses_; }
  // The process is on its way out: what is only done for a future is left undone.
  bool ending() const noexcept { return ending_.load(std::memory_order_relaxed); }

  // What the program says by refrain/refrain.h. false: the address is in no buffer that is managed.
  bool name_tensor(const void* address, std::string_view name);
  void mark(std::string_view name);
  // The totals so far.
  event::End statistics();
  bool seen_cuda() const noexcept { return lookups_.load(std::memory_order_relaxed) > 0; }

  cuda::Runtime& runtime() noexcept { return *runtime_; }
  const cuda::Driver& driver() const noexcept { return driver_; }
  void count_lookup(bool hooked, const char* name);

 private:
  Session();
  void start_log();
  void start_record();
  std::optional<access::Manifest> read_manifest();
  void give_manifest(access::Manifest manifest);
  void announce() const;
  void finish();
  void renew_metrics(bool last);
  bool replace_metrics(const std::string& path, const std::string& text) const;
  void say(int level, const std::string& text) const;
  event::End totals() const;

  std::string name_of(const std::optional<engine::Payload>& payload) const;
  std::uint64_t next_ns(double ns);
  std::uint64_t held_bytes() const;
  std::uint64_t away_bytes() const;

  // Called by the engine, under the runtime's lock.
  void on_evict(const engine::Eviction& eviction) override;
  void on_rematerialise(const engine::Rematerialisation& rematerialisation) override;
  void on_out_of_memory(const engine::OutOfMemory& report) override;
  void on_save(const engine::Saved& saved) override;
  void on_mismatch(const engine::Mismatch& mismatch) override;
  void on_thrash(const engine::Thrashing& thrashing) override;
  void on_buffer(engine::BufferId buffer, engine::Bytes bytes, bool stays) override;
  void on_free(engine::BufferId buffer) override;
  void on_op(std::span<const engine::BufferUse> uses, bool replayable, std::uint32_t cost_class,
             engine::Payload payload) override;
  void on_barrier() override;
  void on_cost(std::uint32_t cost_class, double ns) override;

  static inline std::atomic<Session*> made{nullptr};
  options::Options options_;
  cuda::Driver driver_;
  std::unique_ptr<cuda::Runtime> runtime_;
  trace::Writer log_;
  trace::Recorder record_;
  std::string log_path_;
  std::vector<std::string> metrics_paths_;
  std::string program_;
  std::chrono::steady_clock::time_point metrics_renewed_;
  std::atomic<bool> managing_{false};
  std::atomic<bool> ending_{false};
  bool refuses_ = false;
  std::atomic<std::uint64_t> lookups_{0};
  std::atomic<std::uint64_t> hooked_{0};
  double replayed_ns_ = 0;     // of all rematerialisations so far
  std::uint64_t told_ns_ = 0;  // of these: in the log
  int process_ = 0;
};

}  // namespace refrain::preload
