// The host threads that run blocks. It must not know what they run.
#pragma once

#include <functional>

namespace refrain::simgpu {

// Calls work(0) on the calling thread and work(1), work(2), … work(count - 1) on others, and returns when all
// have returned. work must not throw. Calls from several threads wait for each other.
void run_on_workers(unsigned count, const std::function<void(unsigned)>& work);

}  // namespace refrain::simgpu
