// Makes the managed context current while it lives, for calls that come from another one. Nothing else
// belongs here.
#pragma once

#include "cuda/driver.hpp"

namespace refrain::cuda {

class AtHome {
 public:
  AtHome(const Driver& driver, CUcontext home) : driver_(driver) {
    away_ = home && driver_.cuCtxGetCurrent(&before_) == CUDA_SUCCESS && before_ != home;
    if (away_) driver_.cuCtxSetCurrent(home);
  }
  ~AtHome() {
    if (away_) driver_.cuCtxSetCurrent(before_);
  }
  AtHome(const AtHome&) = delete;
  AtHome& operator=(const AtHome&) = delete;

 private:
  const Driver& driver_;
  CUcontext before_ = nullptr;
  bool away_ = false;
};

}  // namespace refrain::cuda
