// The published runtime. Where a rule looks odd it is theirs: the order of their pool, of their locks, and
// of their lists while these change.
#include "simulate/published.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <unordered_set>

#include "simulate/evicted_classes.hpp"
#include "simulate/evicted_regions.hpp"
#include "simulate/pool.hpp"

namespace refrain::simulate {
namespace {

using engine::PolicyKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Runtime {
 public:
  Runtime(const OperatorLog& log, const PublishedSettings& settings)
      : log_(log),
        settings_(settings),
        banishes_(settings.deallocation == Deallocation::kBanish),
        keeps_regions_(!banishes_ &&
                       (settings.policy == PolicyKind::kDtr || settings.policy == PolicyKind::kMsps)),
        keeps_classes_(settings.policy == PolicyKind::kDtrEq),
        storages_(log.storages.size()),
        regions_(storages_),
        classes_(storages_),
        random_(settings.seed),
        parents_(log.tensors.size()),
        defined_(log.tensors.size()),
        dependents_(banishes_ ? log.storages.size() : 0),
        parents_seen_(log.storages.size()),
        children_seen_(log.storages.size()) {
    pool_.grow_to(log.storages.size());
    for (const LogOp& op : log.ops) result_.base_ns += static_cast<double>(op.cost_ns);
    most_again_ns_ = result_.base_ns * (settings.most_total_over_base - 1);
  }

  Result run() {
    for (const LogStep& step : log_.steps) {
      if (!carry_out(step)) break;
    }
    result_.total_ns = static_cast<double>(clock_ns_);
    result_.device_ns = result_.total_ns;
    return result_;
  }

 private:
  struct Frame {
    std::uint32_t tensor;
    bool again;
    std::vector<std::uint32_t> lost;  // parents that are not there
    std::size_t next = 0;
  };

  std::uint32_t storage_of(std::uint32_t tensor) const { return log_.tensors[tensor].storage; }

  bool carry_out(const LogStep& step) {
    switch (step.kind) {
      case LogStep::Kind::kCompute: return compute(step.index);
      case LogStep::Kind::kRefer: ++storages_[storage_of(step.index)].references; return true;
      case LogStep::Kind::kRelease:
        if (settings_.deallocation != Deallocation::kIgnore) release(storage_of(step.index));
        return true;
      case LogStep::Kind::kKeep:
        if (!defined_[step.index] && !materialise(step.index, true)) return false;
        pin(storage_of(step.index));
        return true;
    }
    return false;
  }

  bool compute(std::uint32_t index) {
    const LogOp& op = log_.ops[index];
    for (std::uint32_t i = 0; i < op.result_count; ++i) add_tensor(index, op.first_result + i);
    link(op);
    if (!materialise(op.first_result, false)) return false;
    for (std::uint32_t i = 0; i < op.result_count; ++i) {
      storages_[storage_of(op.first_result + i)].last_access_ns = clock_ns_;
    }
    if (op.constant) pin(storage_of(op.first_result));
    return true;
  }

  void add_tensor(std::uint32_t op, std::uint32_t tensor) {
    const std::uint32_t id = storage_of(tensor);
    Storage& storage = storages_[id];
    if (storage.tensors.empty()) {
      storage.bytes = log_.storages[id].bytes;
      if (keeps_classes_) classes_.on_new(id);
    }
    if (storage.tensors.empty() || storage.last_op != op) storage.compute_ns += log_.ops[op].cost_ns;
    storage.last_op = op;
    storage.tensors.push_back(tensor);
    ++storage.references;
    const auto arguments = log_.arguments(log_.ops[op]);
    parents_[tensor].assign(arguments.begin(), arguments.end());
  }

  // Before anything is computed: what the op makes counts as an evicted neighbour of its arguments.
  void link(const LogOp& op) {
    parents_seen_.clear();
    for (const std::uint32_t argument : log_.arguments(op)) {
      const std::uint32_t parent = storage_of(argument);
      if (!parents_seen_.add(parent)) continue;
      children_seen_.clear();
      for (std::uint32_t i = 0; i < op.result_count; ++i) {
        const std::uint32_t child = storage_of(op.first_result + i);
        if (child == parent) continue;
        if (banishes_) dependents_[parent].insert(op.first_result + i);
        if (!children_seen_.add(child)) continue;
        storages_[parent].children.push_back(child);
        storages_[child].parents.push_back(parent);
      }
    }
  }

  // Depth first, on an explicit stack: a log may be one long chain.
  bool materialise(std::uint32_t tensor, bool again) {
    frames_.clear();
    begin(tensor, again);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next < frame.lost.size()) {
        const std::uint32_t parent = frame.lost[frame.next];
        if (defined_[parent]) {
          lock(storage_of(parent));
          ++frame.next;
        } else {
          begin(parent, true);
        }
        continue;
      }
      const std::uint32_t made = frame.tensor;
      const bool made_again = frame.again;
      frames_.pop_back();
      if (!finish(made, made_again)) return false;
    }
    return true;
  }

  void begin(std::uint32_t tensor, bool again) {
    Frame frame{.tensor = tensor, .again = again, .lost = {}};
    for (const std::uint32_t parent : parents_[tensor]) {
      Storage& storage = storages_[storage_of(parent)];
      if (!banishes_ || storage.references > 0) storage.last_access_ns = clock_ns_;
    }
    for (const std::uint32_t parent : parents_[tensor]) {
      if (defined_[parent]) {
        lock(storage_of(parent));
      } else {
        frame.lost.push_back(parent);
      }
    }
    frames_.push_back(std::move(frame));
  }

  // All parents are there and locked.
  bool finish(std::uint32_t tensor, bool again) {
    const LogOp& op = log_.ops[log_.tensors[tensor].op];
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < op.result_count; ++i) bytes += own_bytes(op.first_result + i);
    if (!make_room(bytes)) return false;
    execute(op, tensor, bytes);
    if (again) {
      ++result_.rematerialisations;
      again_ns_ += op.cost_ns;
    }
    unlock_parents(tensor);
    if (static_cast<double>(again_ns_) <= most_again_ns_) return true;
    result_.outcome = Outcome::kThrashed;
    return false;
  }

  // A view has none.
  std::uint64_t own_bytes(std::uint32_t tensor) const {
    return log_.is_view(tensor) ? 0 : log_.storages[storage_of(tensor)].bytes;
  }

  // Every result is made; those that were there already are given up again at once.
  void execute(const LogOp& op, std::uint32_t tensor, std::uint64_t bytes) {
    made_.clear();
    for (std::uint32_t i = 0; i < op.result_count; ++i) {
      const std::uint32_t sibling = op.first_result + i;
      if (sibling != tensor && !storages_[storage_of(sibling)].material) made_.push_back(storage_of(sibling));
    }
    if (!storages_[storage_of(tensor)].material) made_.push_back(storage_of(tensor));
    clock_ns_ += static_cast<std::int64_t>(op.cost_ns);
    used_bytes_ += bytes;
    result_.peak_bytes = std::max(result_.peak_bytes, used_bytes_);
    newly_defined_.clear();
    for (std::uint32_t i = 0; i < op.result_count; ++i) {
      const std::uint32_t result = op.first_result + i;
      storages_[storage_of(result)].material = true;
      if (defined_[result]) {
        used_bytes_ -= own_bytes(result);
      } else {
        defined_[result] = true;
        newly_defined_.push_back(result);
      }
    }
    for (const std::uint32_t storage : made_) pool_.append(storage);
    if (keeps_regions_) regions_.on_material(made_);
    if (keeps_classes_) {
      for (const std::uint32_t storage : made_) classes_.on_material(storage);
    }
  }

  // Banishing a parent takes it out of the list that this goes through, and so the one behind it is passed
  // over and stays locked: as published.
  void unlock_parents(std::uint32_t tensor) {
    const std::vector<std::uint32_t>& parents = parents_[tensor];
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const std::uint32_t parent = storage_of(parents[i]);
      unlock(parent);
      if (!banishes_) continue;
      for (const std::uint32_t made : newly_defined_) {
        if (storage_of(made) != parent) dependents_[parent].erase(made);
      }
      try_to_banish(parent);
    }
  }

  void lock(std::uint32_t storage) {
    if (storages_[storage].locks++ == 0) pool_.remove(storage);
  }
  void unlock(std::uint32_t storage) {
    if (storages_[storage].locks == 0) return;  // banished, and named twice by the op
    if (--storages_[storage].locks == 0) pool_.append(storage);
  }
  void pin(std::uint32_t storage) {
    if (storages_[storage].pinned) return;
    lock(storage);
    storages_[storage].pinned = true;
  }

  void release(std::uint32_t id) {
    Storage& storage = storages_[id];
    if (--storage.references != 0) return;
    if (banishes_) {
      try_to_banish(id);
    } else if (storage.material && !storage.pinned) {
      evict(id);
    }
  }

  bool make_room(std::uint64_t bytes) {
    while (used_bytes_ + bytes > settings_.budget_bytes) {
      if (pool_.empty()) {
        result_.outcome = Outcome::kOutOfMemory;
        return false;
      }
      result_.decisions.begin();
      const std::uint32_t victim = choose();
      result_.decisions.end();
      evict(victim);
    }
    return true;
  }

  void evict(std::uint32_t id) {
    Storage& storage = storages_[id];
    storage.material = false;
    used_bytes_ -= storage.bytes;
    ++result_.evictions;
    pool_.remove(id);
    for (const std::uint32_t tensor : storage.tensors) {
      defined_[tensor] = false;
      if (!banishes_) continue;
      for (const std::uint32_t parent : parents_[tensor]) {
        if (storage_of(parent) != id) dependents_[storage_of(parent)].insert(tensor);
      }
    }
    if (keeps_regions_) regions_.on_evict(id);
    if (keeps_classes_) classes_.on_evict(id);
  }

  void try_to_banish(std::uint32_t id) {
    Storage& storage = storages_[id];
    if (storage.banished || storage.references > 0 || !dependents_[id].empty()) return;
    if (storage.material) {
      storage.locks = 0;
      evict(id);
    }
    for (const std::uint32_t tensor : storage.tensors) {
      for (const std::uint32_t parent : parents_[tensor]) {
        if (storage_of(parent) != id) dependents_[storage_of(parent)].erase(tensor);
      }
    }
    storage.banished = true;
    for (const std::uint32_t child : storage.children) {
      if (storages_[child].banished) continue;
      for (const std::uint32_t tensor : storages_[child].tensors) {
        std::erase_if(parents_[tensor], [&](std::uint32_t parent) { return storage_of(parent) == id; });
      }
      pin(child);
    }
  }

  // The lowest score, the last of several; the first that is 0.
  std::uint32_t choose() {
    if (settings_.policy == PolicyKind::kRandom) {
      std::uint32_t storage = pool_.first();
      for (auto skip = std::uniform_int_distribution<std::size_t>(0, pool_.size() - 1)(random_); skip > 0;
           --skip) {
        storage = pool_.after(storage);
      }
      return storage;
    }
    double best = kInfinity;
    std::uint32_t victim = Pool::kEnd;
    for (std::uint32_t storage = pool_.first(); storage != Pool::kEnd; storage = pool_.after(storage)) {
      const double score = score_of(storage);
      if (score <= best) {
        best = score;
        victim = storage;
      }
      if (score == 0) break;
    }
    return victim;
  }

  double score_of(std::uint32_t id) {
    const Storage& storage = storages_[id];
    const auto own_ns = static_cast<std::int64_t>(storage.compute_ns);
    switch (settings_.policy) {
      case PolicyKind::kDtr:
        if (banishes_) return undirected_score(id);
        return over_size_and_staleness(
            own_ns + static_cast<std::int64_t>(regions_.descendants_ns(id) + regions_.ancestors_ns(id)),
            storage, storage.last_access_ns);
      case PolicyKind::kDtrEq:
        return over_size_and_staleness(own_ns + classes_.neighbours_ns(id), storage, storage.last_access_ns);
      case PolicyKind::kDtrLocal: return over_size_and_staleness(own_ns, storage, storage.last_access_ns);
      case PolicyKind::kMsps:
        return quotient(own_ns + static_cast<std::int64_t>(regions_.ancestors_ns(id)), storage.bytes);
      case PolicyKind::kLru: return static_cast<double>(storage.last_access_ns);
      case PolicyKind::kSize: return quotient(1, storage.bytes);
      case PolicyKind::kRandom: break;
    }
    return 0;
  }

  static double quotient(std::int64_t over, std::uint64_t under) {
    return under == 0 ? kInfinity : static_cast<double>(over) / static_cast<double>(under);
  }
  // With all digits of the product, as their integers have: two storages whose scores are equal are.
  double over_size_and_staleness(std::int64_t compute_ns, const Storage& storage,
                                 std::int64_t last_access_ns) const {
    const long double under =
        static_cast<long double>(storage.bytes) * static_cast<long double>(clock_ns_ - last_access_ns);
    return under > 0 ? static_cast<double>(static_cast<long double>(compute_ns) / under) : kInfinity;
  }

  // Both neighbourhoods as one set, each walked in its own direction only.
  double undirected_score(std::uint32_t id) {
    std::int64_t compute_ns = static_cast<std::int64_t>(storages_[id].compute_ns);
    std::int64_t last_access_ns = storages_[id].last_access_ns;
    parents_seen_.clear();  // what has been counted
    for (const bool down : {true, false}) {
      children_seen_.clear();  // where this walk has been
      walk_.assign(1, id);
      while (!walk_.empty()) {
        const Storage& at = storages_[walk_.back()];
        walk_.pop_back();
        for (const std::uint32_t next : down ? at.children : at.parents) {
          const Storage& neighbour = storages_[next];
          if (neighbour.material || neighbour.banished || !children_seen_.add(next)) continue;
          walk_.push_back(next);
          if (!parents_seen_.add(next)) continue;
          compute_ns += static_cast<std::int64_t>(neighbour.compute_ns);
          last_access_ns = std::max(last_access_ns, neighbour.last_access_ns);
        }
      }
    }
    return over_size_and_staleness(compute_ns, storages_[id], last_access_ns);
  }

  const OperatorLog& log_;
  const PublishedSettings settings_;
  const bool banishes_;
  const bool keeps_regions_;
  const bool keeps_classes_;
  std::vector<Storage> storages_;
  EvictedRegions regions_;
  EvictedClasses classes_;
  Pool pool_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::uint32_t>> parents_;  // tensors, by tensor; changed by banishing only
  std::vector<bool> defined_;                        // by tensor: it is there, not only its storage
  std::vector<std::unordered_set<std::uint32_t>> dependents_;  // tensors that are not there, by storage
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> made_;           // storages, by the op that was last executed
  std::vector<std::uint32_t> newly_defined_;  // tensors, by that op
  std::vector<std::uint32_t> walk_;
  Marks parents_seen_;
  Marks children_seen_;
  std::int64_t clock_ns_ = 1;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t again_ns_ = 0;
  double most_again_ns_ = 0;
  Result result_;
};

}  // namespace

bool is_defined(PolicyKind policy, Deallocation deallocation) {
  return deallocation != Deallocation::kBanish ||
         (policy != PolicyKind::kDtrEq && policy != PolicyKind::kMsps);
}

Result run_published(const OperatorLog& log, const PublishedSettings& settings) {
  return Runtime(log, settings).run();
}

}  // namespace refrain::simulate
