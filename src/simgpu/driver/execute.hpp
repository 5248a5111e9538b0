// Running what was queued. It must not decide the order.
#pragma once

#include <string_view>

#include "simgpu/driver/queue.hpp"

namespace refrain::simgpu::driver {

// The queue's runner: performs the operation, sets end_ns, turns a fault into the context's sticky error.
void execute(Lock& lock, Item& item);
// The queue's question; see Queue.
bool ready(const Item& item);

}  // namespace refrain::simgpu::driver
