// A random program of the engine as a list of actions, so that one that fails can be made shorter. The list
// and the settings come from one seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/settings.hpp"

namespace refrain::engine::test {

struct Action {
  enum class Kind : std::uint8_t {
    kAllocate,
    kPlace,
    kAdopt,
    kFree,
    kUpload,
    kDownload,
    kOp,
    kBarrier,
    kPin,
    kFailFlush,
    kFailHost,
    kFailCopyOut,
    kFailDigest,
    kRefuseUnmap,
    kLetGo,
    kForgetLetGo,
    kBringBack,
  };
  struct Use {
    std::uint32_t buffer = 0;  // modulo those that there are
    bool read = false, written = false, whole = false, partial = false, undefined = false;
  };
  Kind kind = Kind::kOp;
  std::uint32_t buffer = 0;  // modulo those that there are; for allocations: pages
  std::uint32_t cost_class = 0;
  bool replayable = true;
  bool unstable = false;
  std::uint64_t seed = 0;  // of the op's function
  std::vector<Use> uses;   // of kBringBack: whose buffers are brought back

  bool is_advice() const { return kind >= Kind::kLetGo; }
};

struct Script {
  Settings settings;
  std::vector<Action> actions;
  std::uint32_t keep_each = 0;  // of freed buffers, by number; 0: none
};

struct Outcome {
  std::string wrong;  // empty: everything was right
  std::uint64_t rematerialisations = 0;
  std::uint64_t restores = 0;
  std::uint64_t mismatches = 0;
  std::uint64_t out_of_memory = 0;  // answers to ops
  // Of those: with room on the host for everything, so that the op's operands only have to fit; or small
  // enough for an exhaustive search.
  std::uint64_t judged = 0;
  std::uint64_t needless = 0;
};

Script make_script(std::uint64_t seed, std::size_t actions);
Outcome run_script(const Script& script);
// What it does without the advice of a plan: the same ops.
Script without_advice(Script script);
// The shortest script that was found to fail still: actions taken out in ever smaller pieces.
Script shrink(Script script);
std::string to_text(const Script& script);

}  // namespace refrain::engine::test
