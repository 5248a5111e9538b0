// Managed memory in the hands of other devices' contexts: who may use it, and until when it must stay. Must
// never wait for work that the program has not waited for, but where memory is freed.
#include <algorithm>

#include "cuda/at_home.hpp"
#include "cuda/capture_guard.hpp"
#include "cuda/runtime.hpp"

namespace refrain::cuda {

CUresult Runtime::lend(CUstream stream, Call call) {
  const bool captured = capturing(stream);
  settle_lent();
  Lent lent{};
  {
    const AtHome home(driver_, context_);
    const CaptureGuard guard(driver_, captures_);
    device_->set_stream(side_stream());
    const engine::Status status = engine_->prepare(uses_);
    if (status != engine::Status::kOk) return error_of(status);
    device_->wait_for_own_work();
    if (captured) {
      engine_->abandon();  // no work yet
    } else {
      engine_->commit(uses_, false, 0, 0);
      for (const engine::BufferUse& use : uses_) {
        engine_->hold(use.buffer);
        lent.buffers.push_back(use.buffer);
      }
    }
  }
  const CUresult result = call();
  if (captured) return result;
  const CaptureGuard guard(driver_, captures_);
  const bool marked = driver_.cuEventCreate(&lent.done, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
                      driver_.cuEventRecord(lent.done, stream) == CUDA_SUCCESS;
  if (!marked) driver_.cuStreamSynchronize(stream);
  lent_.push_back(std::move(lent));
  return result;
}

void Runtime::end_lent(const Lent& lent) {
  for (const engine::BufferId buffer : lent.buffers) engine_->release(buffer);
  if (lent.done) driver_.cuEventDestroy(lent.done);
}

void Runtime::settle_lent() {
  std::erase_if(lent_, [this](const Lent& lent) {
    if (lent.done && driver_.cuEventQuery(lent.done) == CUDA_ERROR_NOT_READY) return false;
    end_lent(lent);
    return true;
  });
}

void Runtime::take_back(engine::BufferId buffer) {
  std::erase_if(lent_, [&](const Lent& lent) {
    if (std::find(lent.buffers.begin(), lent.buffers.end(), buffer) == lent.buffers.end()) return false;
    if (lent.done) driver_.cuEventSynchronize(lent.done);
    end_lent(lent);
    return true;
  });
}

void Runtime::peer_opened(CUcontext context) {
  const std::lock_guard lock(mutex_);
  CUdevice device = 0;
  if (driver_.cuCtxGetDevice(&device) != CUDA_SUCCESS) return;
  peers_[context].insert(device);
  if (engine_ && context == context_) open_to_peers();
}

void Runtime::pool_opened(CUdevice device) {
  const std::lock_guard lock(mutex_);
  pool_peers_.insert(device);
  if (engine_ && context_) open_to_peers();
}

void Runtime::open_to_peers() {
  std::set<CUdevice> all = pool_peers_;
  if (const auto found = peers_.find(context_); found != peers_.end()) all.merge(std::set(found->second));
  all.erase(device_number_);
  for (const CUdevice device : all) device_->open_to(device);
}

}  // namespace refrain::cuda
