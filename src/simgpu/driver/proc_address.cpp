// cuGetProcAddress in both ABIs, and cuGetExportTable. Answers with the exported symbols themselves, as dlsym
// would. It must not know what functions do.
#include "simgpu/driver/error.hpp"
#include "simgpu/driver/exports.hpp"

namespace refrain::simgpu::driver {
namespace {

// Another C++ name for each exported symbol, to take its address whatever its type. Names are only pasted or
// quoted: cuda.h has macros of the same spelling.
#define DRIVER_FUNCTION(name, version, symbol) extern "C" void simgpu_entry_##symbol() asm(#symbol);
#define DRIVER_FUNCTION_PT(name, version, symbol, pt_version, suffix) \
  extern "C" void simgpu_entry_##symbol() asm(#symbol);               \
  extern "C" void simgpu_entry_##symbol##_##suffix() asm(#symbol "_" #suffix);
#define DRIVER_ABSENT DRIVER_FUNCTION
#define DRIVER_ABSENT_PT DRIVER_FUNCTION_PT
#include "simgpu/driver/functions.def"
#undef DRIVER_FUNCTION
#undef DRIVER_FUNCTION_PT

const Export export_rows[] = {
#define DRIVER_FUNCTION(name, version, symbol) {#name, version, &simgpu_entry_##symbol, 0, nullptr},
#define DRIVER_FUNCTION_PT(name, version, symbol, pt_version, suffix) \
  {#name, version, &simgpu_entry_##symbol, pt_version, &simgpu_entry_##symbol##_##suffix},
#include "simgpu/driver/functions.def"
#undef DRIVER_FUNCTION
#undef DRIVER_FUNCTION_PT
#undef DRIVER_ABSENT
#undef DRIVER_ABSENT_PT
};

constexpr int kDriverVersion = 13000;

struct Answer {
  EntryPoint entry = nullptr;
  bool known = false;  // the name, at some version
};

Answer look_up(std::string_view name, int version, bool per_thread) {
  Answer out;
  int best = 0;
  int best_per_thread = 0;
  EntryPoint own = nullptr;
  for (const Export& row : export_rows) {
    if (row.name != name) continue;
    out.known = true;
    if (row.version <= version && row.version > best) {
      best = row.version;
      out.entry = row.entry;
    }
    if (row.per_thread != nullptr && row.per_thread_version <= version &&
        row.per_thread_version > best_per_thread) {
      best_per_thread = row.per_thread_version;
      own = row.per_thread;
    }
  }
  if (per_thread && own != nullptr) out.entry = own;
  return out;
}

}  // namespace

std::span<const Export> exports() {
  return export_rows;
}

}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || function == nullptr || version > kDriverVersion) return CUDA_ERROR_INVALID_VALUE;
  if (flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  const Answer answer = look_up(name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  *function = reinterpret_cast<void*>(answer.entry);
  if (status != nullptr) {
    *status = answer.entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : answer.known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  try {
    say_once(
        "a program asks for the driver's private tables, as a CUDA runtime that is linked statically does; "
        "simgpu has "
        "none: build it with nvcc -cudart shared");
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return CUDA_ERROR_NOT_FOUND;
}
