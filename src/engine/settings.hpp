// How the engine is to behave: plain data that the caller fills from its options. No logic.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "engine/ids.hpp"

namespace refrain::engine {

// A cap that is never reached; far from the end of the type so that sums do not wrap.
inline constexpr Bytes kNoCap = Bytes{1} << 62;

// What may be copied to the host to make room: nothing, only what cannot be computed again, or whatever that
// is cheapest for.
enum class Offload : std::uint8_t { kOff, kLeaves, kAuto };

// Which values are compared with what they were: none; those of kernels on probation and some of all others;
// every one.
enum class Verify : std::uint8_t { kOff, kSample, kAll };

// What to do once a value has come back different and there is no copy of it, or recomputation has gone out
// of hand.
enum class OnMismatch : std::uint8_t { kContinue, kStop, kFail };
enum class OnThrash : std::uint8_t { kReport, kStop, kOffload, kFail };

// Which value goes first: policy.hpp says what each of them ranks by. The names are those of the option.
enum class PolicyKind : std::uint8_t { kDtr, kDtrEq, kDtrLocal, kLru, kSize, kMsps, kRandom };
inline constexpr std::array<std::string_view, 7> kPolicyNames = {"dtr",  "dtr_eq", "dtr_local", "lru",
                                                                 "size", "msps",   "random"};

struct Settings {
  Bytes cap_bytes = kNoCap;
  Bytes host_cap_bytes = 0;        // for copies of values in pinned host memory
  Bytes granularity_bytes = 4096;  // of the device: sizes of buffers that are not adopted are multiples of it
  PolicyKind policy = PolicyKind::kDtr;
  Offload offload = Offload::kOff;
  Verify verify = Verify::kOff;
  OnMismatch on_mismatch = OnMismatch::kFail;
  OnThrash on_thrash = OnThrash::kReport;
  // Of all op time in a window of kThrashWindowOps ops of the program's: above it, that is thrashing.
  double thrash_share = 0.9;
  // Records of ops kept at most; beyond it the oldest resident values become leaves. 131,072 ops are about
  // 60 MiB with what the port keeps of each, and more than ten iterations of the longest published DTR log.
  std::size_t max_ops = std::size_t{1} << 17;
  // Versions of a buffer made one from the other in place (a memset and what is added to it) that are
  // replayed at most. Where every write may be partial, a buffer that is written in each step would else
  // drag all steps behind it.
  std::uint32_t max_in_place_depth = 16;
  // The same where other ops have read the version before: a buffer that serves several tensors of different
  // sizes in one step. Four are enough for attention in one scratch buffer (llm.c).
  std::uint32_t max_scratch_depth = 4;
  // Leaves that the program has freed and that only others' lineage needs may hold this part of what the
  // program has ever wanted. Where each step makes new parameters from the old ones, the newest would else
  // keep all steps' gradients.
  double max_freed_leaves = 0.125;
};

inline constexpr std::uint32_t kThrashWindowOps = 256;

}  // namespace refrain::engine
