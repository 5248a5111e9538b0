// The file that SIMGPU_ACCESSES names: what each launch read and wrote, for tests of predictions. It must not
// change what a launch does. The caller holds the device's lock.
#pragma once

#include <memory>
#include <string>

#include "simgpu/driver/operation.hpp"
#include "simgpu/exec/access_record.hpp"

namespace refrain::simgpu::driver {

struct Device;
struct Source;

// A name for the code, the same in each process, and its PTX into the file once. Empty if no file is wanted,
// or if the kernels are native.
std::string log_module(const Source& source);

// An empty record, or nullptr if no file is wanted.
std::unique_ptr<AccessRecord> begin_record();
// One line for a launch that ended without a fault, unless there is the same line already.
void log_launch(const Device& device, const KernelLaunch& launch, AccessRecord& record);

}  // namespace refrain::simgpu::driver
