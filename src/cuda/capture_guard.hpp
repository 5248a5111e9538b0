// While any stream of the process is being captured, calls that are unsafe in a capture (mapping, events,
// launches on other streams) are only allowed in relaxed mode. Nothing else belongs here.
#pragma once

#include "cuda/driver.hpp"

namespace refrain::cuda {

class CaptureGuard {
 public:
  CaptureGuard(const Driver& driver, int captures) : driver_(driver), armed_(captures > 0) {
    if (armed_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~CaptureGuard() {
    if (armed_) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool armed_;
};

}  // namespace refrain::cuda
