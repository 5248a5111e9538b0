// A pool that grows to what is asked and lives as long as the process: its threads are never joined, because
// calls may come while the process ends. It must not hold a lock while work runs.
#include "simgpu/exec/workers.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace refrain::simgpu {
namespace {

class Pool {
 public:
  void run(unsigned count, const std::function<void(unsigned)>& work) {
    const std::lock_guard one_at_a_time(callers_);
    {
      const std::lock_guard lock(mutex_);
      for (; threads_ + 1 < count; ++threads_) std::thread(&Pool::serve, this, threads_ + 1).detach();
      work_ = &work;
      count_ = count;
      left_ = count - 1;
      ++round_;
    }
    wake_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    work_ = nullptr;
  }

 private:
  void serve(unsigned number) {
    std::uint64_t served = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return round_ != served && work_ != nullptr && number < count_; });
      served = round_;
      const auto& work = *work_;
      lock.unlock();
      work(number);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::mutex callers_;
  std::mutex mutex_;  // everything below
  std::condition_variable wake_, done_;
  const std::function<void(unsigned)>* work_ = nullptr;
  unsigned threads_ = 0, count_ = 0, left_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace

void run_on_workers(unsigned count, const std::function<void(unsigned)>& work) {
  static auto* pool = new Pool;  // never destroyed: its threads wait in it
  pool->run(count, work);
}

}  // namespace refrain::simgpu
