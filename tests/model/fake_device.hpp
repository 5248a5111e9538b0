// A device for tests. The contents of a page are one hash; an op's outputs are hashes of its inputs, so that
// a wrong, stale or missing input shows in everything that follows. It must never be kinder than a real
// device.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/engine.hpp"
#include "must.hpp"

namespace refrain::engine::test {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdull;
  return a ^ (a >> 33);
}

struct FakeUse {
  bool input = false;   // the result depends on what was there
  bool output = false;  // it is overwritten
};

struct FakeOp {
  std::uint64_t seed = 0;
  bool unstable = false;  // gives something else each time
  std::uint64_t runs = 0;
  std::vector<FakeUse> uses;
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(Bytes cap_bytes) : cap_bytes_(cap_bytes) {}

  Payload record(FakeOp op) {
    ops_.emplace(++last_payload_, std::move(op));
    return last_payload_;
  }
  // As the program itself would run it.
  void run(Payload payload, std::span<const BufferId> buffers) {
    must(queue_.empty(), "the program's op overtakes replays");
    execute(ops_.at(payload), buffers);
  }
  std::uint64_t& contents(BufferId buffer) {
    const auto adopted = adopted_.find(buffer.index);
    if (adopted != adopted_.end()) return adopted->second;
    const auto it = mapped_.find(buffer.index);
    must(it != mapped_.end(), "a buffer is used that is not mapped");
    static std::uint64_t nothing = 0;
    return it == mapped_.end() ? nothing : pages_.at(it->second.index).contents;
  }
  void adopt(BufferId buffer) { adopted_[buffer.index] = 0xdead; }
  void place(BufferId buffer, Bytes bytes) {
    reserved_[buffer.index] = bytes;
    placed_.insert(buffer.index);
  }
  std::size_t payloads() const { return ops_.size(); }
  Bytes physical_bytes() const { return physical_bytes_; }
  Bytes peak_physical_bytes = 0;
  int fail_next_flushes = 0;
  Bytes driver_limit_bytes = ~Bytes{0};
  std::uint64_t driver_calls = 0;

  bool reserve(BufferId buffer, Bytes bytes) override {
    reserved_[buffer.index] = bytes;
    return true;
  }
  std::optional<PagesId> create_pages(Bytes bytes) override {
    ++driver_calls;
    if (physical_bytes_ + bytes > driver_limit_bytes) return std::nullopt;
    const PagesId id{next_pages_++};
    pages_[id.index] = {bytes, mix(0xbad, next_pages_)};
    physical_bytes_ += bytes;
    peak_physical_bytes = std::max(peak_physical_bytes, physical_bytes_);
    must(physical_bytes_ <= cap_bytes_, "the cap is exceeded");
    return id;
  }
  void destroy_pages(PagesId pages) override {
    ++driver_calls;
    for (const auto& [buffer, mapped] : mapped_) must(!(mapped == pages), "destroyed while mapped");
    physical_bytes_ -= pages_.at(pages.index).bytes;
    pages_.erase(pages.index);
  }
  bool map(BufferId buffer, PagesId pages) override {
    ++driver_calls;
    must(!mapped_.contains(buffer.index), "mapped where something is mapped");
    must(reserved_.at(buffer.index) == pages_.at(pages.index).bytes, "pages of another size");
    for (const auto& [other, mapped] : mapped_) must(!(mapped == pages), "mapped twice");
    mapped_[buffer.index] = pages;
    return true;
  }
  int refuse_next_unmaps = 0;
  bool unmap(BufferId buffer) override {
    ++driver_calls;
    if (refuse_next_unmaps > 0) {
      --refuse_next_unmaps;
      return false;
    }
    for (const Queued& queued : queue_) {
      if (std::find(queued.buffers.begin(), queued.buffers.end(), buffer) != queued.buffers.end()) {
        drain();
        break;
      }
    }
    must(mapped_.erase(buffer.index) == 1, "unmapped twice");
    return true;
  }
  void replay(Payload payload, std::span<const BufferId> bindings) override {
    queue_.push_back({payload, {bindings.begin(), bindings.end()}, {}});
  }
  void copy(BufferId from, BufferId to, Bytes) override { queue_.push_back({kCopy, {from, to}, {}}); }
  void fill(BufferId buffer, Bytes) override { queue_.push_back({kFill, {buffer}, {}}); }
  void copy_in(HostId from, BufferId to, Bytes bytes) override {
    must(hosts_.at(from.index).bytes == bytes, "a copy in of another size");
    queue_.push_back({kCopyIn, {to}, from});
  }
  std::optional<HostId> create_host(Bytes bytes) override {
    ++driver_calls;
    if (fail_next_hosts > 0) {
      --fail_next_hosts;
      return std::nullopt;
    }
    const HostId id{next_host_++};
    hosts_[id.index] = {bytes, mix(0xbad, next_host_)};
    host_bytes_ += bytes;
    must(host_bytes_ <= host_cap_bytes, "the host cap is exceeded");
    return id;
  }
  void destroy_host(HostId host) override {
    for (const Queued& queued : queue_) must(!(queued.host == host), "destroyed while a copy is queued");
    host_bytes_ -= hosts_.at(host.index).bytes;
    hosts_.erase(host.index);
  }
  bool copy_out(BufferId from, HostId to, Bytes bytes) override {
    must(queue_.empty(), "a direct call overtakes the queue");
    must(hosts_.at(to.index).bytes == bytes, "a copy out of another size");
    if (fail_next_copies_out > 0) {
      --fail_next_copies_out;
      return false;
    }
    hosts_.at(to.index).contents = contents(from);
    return true;
  }
  std::optional<Digest> digest(BufferId buffer) override {
    must(queue_.empty(), "a direct call overtakes the queue");
    if (fail_next_digests > 0) {
      --fail_next_digests;
      return std::nullopt;
    }
    return Digest{contents(buffer), ~contents(buffer)};
  }
  // From now on no op gives what it gave before.
  void make_unstable() {
    for (auto& [payload, op] : ops_) op.unstable = true, op.runs = 1;
  }
  // A bit of host memory tips over.
  void spoil_hosts() {
    for (auto& [index, host] : hosts_) host.contents ^= 1;
  }
  Bytes host_cap_bytes = 0;
  int fail_next_hosts = 0;
  int fail_next_copies_out = 0;
  int fail_next_digests = 0;
  bool flush() override {
    if (fail_next_flushes > 0) {
      --fail_next_flushes;
      // What was queued may have run in part: its targets hold anything.
      for (const Queued& queued : queue_) {
        for (const BufferId buffer : queued.buffers) touched_by_failure.push_back(buffer);
      }
      queue_.clear();
      return false;
    }
    drain();
    return true;
  }
  void release_payload(Payload payload) override {
    must(ops_.erase(payload) == 1, "a payload is released twice");
  }
  void release_placed(BufferId buffer) override {
    must(!mapped_.contains(buffer.index), "released while mapped");
    must(adopted_.erase(buffer.index) + placed_.erase(buffer.index) == 1, "released twice");
  }

  std::vector<BufferId> touched_by_failure;

 private:
  static constexpr Payload kCopy = ~Payload{0};
  static constexpr Payload kFill = ~Payload{1};
  static constexpr Payload kCopyIn = ~Payload{2};
  struct Queued {
    Payload payload;  // or one of the above
    std::vector<BufferId> buffers;
    HostId host;
  };
  struct Pages {
    Bytes bytes;
    std::uint64_t contents;
  };

  void drain() {
    for (const Queued& queued : queue_) {
      if (queued.payload == kCopy) {
        contents(queued.buffers[1]) = contents(queued.buffers[0]);
      } else if (queued.payload == kFill) {
        contents(queued.buffers[0]) = 0;
      } else if (queued.payload == kCopyIn) {
        contents(queued.buffers[0]) = hosts_.at(queued.host.index).contents;
      } else {
        execute(ops_.at(queued.payload), queued.buffers);
      }
    }
    queue_.clear();
  }
  void execute(FakeOp& op, std::span<const BufferId> buffers) {
    std::uint64_t hash = op.unstable ? mix(op.seed, op.runs++) : op.seed;
    for (std::size_t i = 0; i < op.uses.size(); ++i) {
      const std::uint64_t there = contents(buffers[i]);
      if (op.uses[i].input) hash = mix(hash, there);
    }
    for (std::size_t i = 0; i < op.uses.size(); ++i) {
      if (op.uses[i].output) contents(buffers[i]) = mix(hash, i + 1);
    }
  }

  Bytes cap_bytes_;
  Bytes physical_bytes_ = 0;
  std::unordered_map<Payload, FakeOp> ops_;
  Payload last_payload_ = 0;
  std::uint32_t next_pages_ = 0;
  std::unordered_map<std::uint32_t, Bytes> reserved_;
  std::map<std::uint32_t, Pages> pages_;
  std::map<std::uint32_t, PagesId> mapped_;
  std::map<std::uint32_t, std::uint64_t> adopted_;
  std::set<std::uint32_t> placed_;
  std::vector<Queued> queue_;
  std::map<std::uint32_t, Pages> hosts_;
  std::uint32_t next_host_ = 0;
  Bytes host_bytes_ = 0;
};

class CountingObserver final : public Observer {
 public:
  void on_evict(const Eviction& eviction) override {
    ++evictions;
    last_eviction = eviction;
  }
  void on_rematerialise(const Rematerialisation&) override { ++rematerialisations; }
  void on_out_of_memory(const OutOfMemory& report) override {
    ++out_of_memory;
    last_out_of_memory = report;
  }
  void on_save(const Saved& saved) override {
    ++saves;
    last_saved = saved;
  }
  void on_mismatch(const Mismatch& mismatch) override {
    ++mismatches;
    last_mismatch = mismatch;
  }
  void on_thrash(const Thrashing&) override { ++thrashings; }
  bool keeps_freed(BufferId buffer) override { return keep_each != 0 && buffer.index % keep_each == 0; }
  std::uint32_t keep_each = 0;  // of freed buffers; 0: none
  int evictions = 0;
  int saves = 0;
  int mismatches = 0;
  int thrashings = 0;
  Saved last_saved{};
  Mismatch last_mismatch{};
  int rematerialisations = 0;
  int out_of_memory = 0;
  Eviction last_eviction{};
  OutOfMemory last_out_of_memory{};
};

}  // namespace refrain::engine::test
