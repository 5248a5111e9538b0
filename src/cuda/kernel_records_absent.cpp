// For a build without CUPTI's headers: there are no records. Must say so, and nothing else.
#include "cuda/kernel_records.hpp"

namespace refrain::cuda {

std::string KernelRecords::open(int) {
  return "refrain was built without its headers";
}
std::string KernelRecords::start() {
  return "refrain was built without its headers";
}
std::optional<KernelRecords::Sample> KernelRecords::begin(std::uint32_t, std::uint64_t) {
  return std::nullopt;
}
bool KernelRecords::finish(Sample) {
  return false;
}
void KernelRecords::cancel(Sample) {}
bool KernelRecords::flush() {
  return false;
}
void KernelRecords::collect(std::uint64_t, Take) {}
void KernelRecords::stop() {}

}  // namespace refrain::cuda
