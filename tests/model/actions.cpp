// Making, running and shrinking scripts. Must depend on nothing but the seed.
#include "actions.hpp"

#include <algorithm>
#include <optional>
#include <random>

#include "exhaustive.hpp"
#include "program.hpp"

namespace refrain::engine::test {
namespace {

using Kind = Action::Kind;

constexpr std::uint32_t kUnstableClass = Program::kClasses - 1;

constexpr Bytes kAmple = Bytes{1} << 30;  // more than all programs together copy to the host

Settings random_settings(std::mt19937_64& random) {
  Settings s;
  s.cap_bytes = (4 + random() % 20) * kPage;
  s.granularity_bytes = kPage;
  s.max_ops = random() % 4 == 0 ? 16 : 1 << 20;
  s.max_freed_leaves = random() % 2 == 0 ? 0.125 : 1;
  s.offload = static_cast<Offload>(random() % 3);
  s.verify = static_cast<Verify>(random() % 3);
  const std::uint64_t host = random() % 3;
  s.host_cap_bytes = host == 0 ? 0 : host == 1 ? (1 + random() % 8) * kPage : kAmple;
  return s;
}

Action random_op(std::mt19937_64& random, const Settings& settings) {
  Action op;
  op.cost_class = static_cast<std::uint32_t>(random() % Program::kClasses);
  op.replayable = random() % 12 != 0;
  op.unstable = op.cost_class == kUnstableClass;
  // Without verification, an op that says that it can be replayed must be able to.
  if (op.unstable && settings.verify == Verify::kOff) op.replayable = false;
  op.seed = random();
  const std::size_t count = 1 + random() % 4;
  for (std::size_t i = 0; i < count; ++i) {
    Action::Use use{.buffer = static_cast<std::uint32_t>(random())};
    use.written = random() % 2 == 0;
    use.read = !use.written || random() % 3 == 0;
    use.whole = use.written && !use.read && random() % 2 == 0;
    use.partial = use.written && !use.whole && random() % 2 == 0;
    use.undefined = use.whole && random() % 8 == 0;
    op.uses.push_back(use);
  }
  return op;
}

Action random_action(std::mt19937_64& random, const Settings& settings) {
  Action action;
  action.buffer = static_cast<std::uint32_t>(random());
  const std::uint64_t dice = random() % 200;
  if (dice < 36) {
    const std::uint64_t kind = random() % 12;
    action.kind = kind == 0 ? Kind::kAdopt : kind < 4 ? Kind::kPlace : Kind::kAllocate;
  } else if (dice < 60) {
    action.kind = Kind::kFree;
  } else if (dice < 76) {
    action.kind = Kind::kUpload;
  } else if (dice < 86) {
    action.kind = Kind::kDownload;
  } else if (dice < 88) {
    action.kind = Kind::kBarrier;
  } else if (dice == 88) {
    action.kind = random() % 4 == 0 ? Kind::kPin : Kind::kDownload;
  } else if (dice == 89) {
    constexpr Kind kFailures[] = {Kind::kFailFlush, Kind::kFailHost, Kind::kFailCopyOut, Kind::kFailDigest,
                                  Kind::kRefuseUnmap};
    action.kind = kFailures[random() % std::size(kFailures)];
  } else {
    return random_op(random, settings);
  }
  return action;
}

// What a plan might say at that moment, right or wrong.
Action random_advice(std::mt19937_64& random) {
  constexpr Kind kKinds[] = {Kind::kLetGo,     Kind::kLetGo,     Kind::kLetGo,
                             Kind::kBringBack, Kind::kBringBack, Kind::kForgetLetGo};
  Action action{.kind = kKinds[random() % std::size(kKinds)],
                .buffer = static_cast<std::uint32_t>(random()),
                .uses = {}};
  const std::size_t count = action.kind == Kind::kBringBack ? 1 + random() % 4 : 0;
  for (std::size_t i = 0; i < count; ++i)
    action.uses.push_back({.buffer = static_cast<std::uint32_t>(random()), .read = true});
  return action;
}

class Player {
 public:
  explicit Player(const Script& script) : script_(script), program_(script.settings) {
    program_.observer.keep_each = script.keep_each;
  }

  Outcome run() {
    for (const Action& action : script_.actions) {
      play(action);
      if (!wrong().empty()) break;
    }
    finish();
    const Statistics& s = program_.engine.statistics();
    outcome_.rematerialisations = s.rematerialisations;
    outcome_.restores = s.restores;
    outcome_.mismatches = s.mismatches;
    must(s.unrepaired == 0 || faults_, "a value was lost");
    outcome_.wrong = wrong();
    return outcome_;
  }
  static std::string& wrong() {
    thread_local std::string text;
    return text;
  }

 private:
  BufferId pick(std::uint32_t number) const { return buffers_[number % buffers_.size()]; }
  void keep(BufferId buffer) {
    if (buffer) buffers_.push_back(buffer);
  }
  void free_at(std::size_t i) {
    program_.free(buffers_[i]);
    buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void play(const Action& action) {
    switch (action.kind) {
      case Kind::kAllocate: return keep(program_.allocate(1 + action.buffer % 3));
      case Kind::kPlace: return keep(program_.place(1 + action.buffer % 3));
      case Kind::kAdopt: return keep(program_.adopt());
      case Kind::kFailFlush: return fail(program_.device.fail_next_flushes);
      case Kind::kFailHost: return fail(program_.device.fail_next_hosts);
      case Kind::kFailCopyOut: return fail(program_.device.fail_next_copies_out);
      case Kind::kFailDigest: return fail(program_.device.fail_next_digests);
      case Kind::kRefuseUnmap: return fail(program_.device.refuse_next_unmaps);
      default: break;
    }
    if (buffers_.empty()) return;
    switch (action.kind) {
      case Kind::kFree: return free_at(action.buffer % buffers_.size());
      case Kind::kUpload: program_.upload(pick(action.buffer)); return;
      case Kind::kDownload: program_.download(pick(action.buffer)); return;
      case Kind::kBarrier: program_.barrier(); return;
      case Kind::kPin:
        program_.engine.pin(pick(action.buffer));
        pinned_ = true;
        return;
      case Kind::kLetGo: return program_.let_go(pick(action.buffer), (action.buffer >> 16) % 2 == 0);
      case Kind::kForgetLetGo: return program_.engine.forget_let_go();
      case Kind::kBringBack: return bring_back(action);
      default: play_op(action);
    }
  }
  void bring_back(const Action& action) {
    std::vector<BufferId> buffers;
    for (const Action::Use& use : action.uses) buffers.push_back(pick(use.buffer));
    program_.bring_back(buffers);
  }
  void fail(int& counter) {
    ++counter;
    faults_ = true;
  }
  void play_op(const Action& action) {
    std::vector<Program::Use> uses;
    bool writes = false;
    for (const Action::Use& use : action.uses) {
      const BufferId buffer = pick(use.buffer);
      if (std::any_of(uses.begin(), uses.end(), [&](const Program::Use& u) { return u.buffer == buffer; }))
        continue;
      uses.push_back({.buffer = buffer,
                      .read = use.read,
                      .written = use.written,
                      .whole = use.whole,
                      .undefined = use.undefined,
                      .partial = use.partial});
      writes = writes || use.written;
    }
    if (!writes) uses[0].written = true;
    if (program_.op(uses, action.replayable, action.cost_class, action.unstable) != Status::kOutOfMemory)
      return;
    ++outcome_.out_of_memory;
    const std::optional<bool> answer = needless(uses);
    outcome_.judged += answer.has_value() ? 1 : 0;
    outcome_.needless += answer.value_or(false) ? 1 : 0;
  }
  std::optional<bool> needless(const std::vector<Program::Use>& uses) const {
    const Settings& s = script_.settings;
    if (faults_ || pinned_) return std::nullopt;
    if (s.offload == Offload::kOff && s.verify == Verify::kOff) {
      std::vector<BufferUse> engine_uses;
      for (const Program::Use& use : uses) {
        engine_uses.push_back({use.buffer, use.read, use.written, use.whole, use.undefined});
      }
      return can_be_held(program_.engine, engine_uses, s.granularity_bytes);
    }
    if (s.offload != Offload::kAuto || s.host_cap_bytes < kAmple) return std::nullopt;
    Bytes operands = 0;
    for (const Program::Use& use : uses) {
      const Buffer& b = program_.engine.memory().buffer(use.buffer);
      operands += b.adopted ? 0 : b.bytes;
    }
    return operands <= s.cap_bytes;
  }
  void finish() {
    for (const BufferId buffer : buffers_) {
      if (wrong().empty()) program_.download(buffer);
    }
    while (!buffers_.empty() && wrong().empty()) free_at(buffers_.size() - 1);
    if (!wrong().empty()) return;
    must(program_.engine.lineage().value_count() == 0, "values are left at the end");
    must(program_.engine.lineage().op_count() == 0, "ops are left at the end");
    must(program_.engine.memory().used_bytes() == 0, "memory is left at the end");
    must(program_.engine.host_memory().used_bytes() == 0, "host memory is left at the end");
    must(program_.device.payloads() == 0, "payloads are left at the end");
  }

  const Script& script_;
  Program program_;
  std::vector<BufferId> buffers_;
  Outcome outcome_;
  bool faults_ = false;
  bool pinned_ = false;
};

}  // namespace

Script make_script(std::uint64_t seed, std::size_t actions) {
  std::mt19937_64 random(seed);
  Script script{.settings = random_settings(random), .actions = {}};
  // From numbers of its own, so that a seed means the same program under every policy.
  script.settings.policy = static_cast<PolicyKind>(std::mt19937_64(~seed)() % kPolicyNames.size());
  for (int i = 0; i < 3; ++i) {
    script.actions.push_back(
        {.kind = Kind::kAllocate, .buffer = static_cast<std::uint32_t>(random()), .uses = {}});
  }
  while (script.actions.size() < actions) script.actions.push_back(random_action(random, script.settings));
  // From numbers of its own too: the program stays what it was. Every other one has none.
  std::mt19937_64 advice(seed ^ 0xad71ce);
  if (advice() % 2 == 0) return script;
  script.keep_each = static_cast<std::uint32_t>(advice() % 3);
  std::vector<Action> advised;
  for (Action& action : script.actions) {
    while (advice() % 3 == 0) advised.push_back(random_advice(advice));
    advised.push_back(std::move(action));
  }
  script.actions = std::move(advised);
  return script;
}

Script without_advice(Script script) {
  std::erase_if(script.actions, [](const Action& action) { return action.is_advice(); });
  script.keep_each = 0;
  return script;
}

Outcome run_script(const Script& script) {
  auto* const previous = on_wrong;
  Player::wrong().clear();
  on_wrong = [](const char* what) {
    if (Player::wrong().empty()) Player::wrong() = what;
  };
  const Outcome outcome = Player(script).run();
  on_wrong = previous;
  return outcome;
}

Script shrink(Script script) {
  for (std::size_t piece = script.actions.size() / 2; piece > 0; piece /= 2) {
    for (std::size_t begin = 0; begin + piece <= script.actions.size();) {
      Script shorter = script;
      const auto first = shorter.actions.begin() + static_cast<std::ptrdiff_t>(begin);
      shorter.actions.erase(first, first + static_cast<std::ptrdiff_t>(piece));
      if (run_script(shorter).wrong.empty()) {
        begin += piece;
      } else {
        script = std::move(shorter);
      }
    }
  }
  return script;
}

std::string to_text(const Script& script) {
  constexpr const char* kNames[] = {
      "allocate",    "place",        "adopt",  "free",          "upload",    "download",
      "op",          "barrier",      "pin",    "fail flush",    "fail host", "fail copy out",
      "fail digest", "refuse unmap", "let go", "forget let go", "bring back"};
  const Settings& s = script.settings;
  std::string text = "cap " + std::to_string(s.cap_bytes / kPage) + " pages, host " +
                     std::to_string(s.host_cap_bytes / kPage) + ", offload " +
                     std::to_string(static_cast<int>(s.offload)) + ", verify " +
                     std::to_string(static_cast<int>(s.verify)) + ", policy " +
                     std::string(kPolicyNames[static_cast<std::size_t>(s.policy)]) + ", ops " +
                     std::to_string(s.max_ops) + ", keep each " + std::to_string(script.keep_each) + "\n";
  for (const Action& action : script.actions) {
    text += kNames[static_cast<int>(action.kind)];
    if (action.kind == Kind::kOp) {
      text += " class " + std::to_string(action.cost_class);
      if (!action.replayable) text += " once";
      for (const Action::Use& use : action.uses) {
        text += " " + std::to_string(use.buffer) + ":";
        if (use.read) text += "r";
        if (use.written) text += use.whole ? "W" : use.partial ? "p" : "w";
      }
    } else {
      text += " " + std::to_string(action.buffer);
      for (const Action::Use& use : action.uses) text += " " + std::to_string(use.buffer);
    }
    text += "\n";
  }
  return text;
}

}  // namespace refrain::engine::test
