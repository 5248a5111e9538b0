// cuStreamWaitValue, cuStreamWriteValue, cuStreamBatchMemOp: values in memory as signals, in a stream's
// order. It must not wait itself: the queue does.
#include "simgpu/driver/graph_memory.hpp"
#include "simgpu/driver/submit.hpp"

namespace refrain::simgpu::driver {
namespace {

void check_word(const Session& session, const WriteValue& word, Access access) {
  require(word.address % word.bytes == 0 && reachable(session.device, word.address, word.bytes, access));
}

void submit_one(Session& session, const StreamRef& stream, const CUstreamBatchMemOpParams& params) {
  const auto& write = params.writeValue;
  const auto& wait = params.waitValue;
  switch (params.operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: {
      const bool wide = params.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
      const WriteValue word{write.address, wide ? write.value64 : write.value, wide ? 8U : 4U};
      check_word(session, word, Access::kReadWrite);
      submit(session, stream, word);
      return;
    }
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: {
      const bool wide = params.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
      const WriteValue word{wait.address, wide ? wait.value64 : wait.value, wide ? 8U : 4U};
      check_word(session, word, Access::kRead);
      submit(session, stream, WaitValue{word, wait.flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH}});
      return;
    }
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return;  // every write is seen at once
    default: throw CudaError(CUDA_ERROR_INVALID_VALUE);
  }
}

CUresult submit_all(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* params, unsigned flags) {
  return api(Need::kContext, [&](Session& session) {
    require(flags == 0 && (params != nullptr || count == 0) && count <= 256);
    const StreamRef stream = session.stream(handle);
    if (stream->capture != nullptr) refuse("a stream memory operation in a stream capture");
    for (unsigned index = 0; index < count; ++index) {
      const CUstreamBatchMemOpType operation = params[index].operation;
      const bool wait =
          operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
      require(!wait || (params[index].waitValue.flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH}) <=
                           CU_STREAM_WAIT_VALUE_NOR);
    }
    for (unsigned index = 0; index < count; ++index) submit_one(session, stream, params[index]);
  });
}

CUresult submit_value(CUstreamBatchMemOpType operation, CUstream stream, CUdeviceptr address,
                      cuuint64_t value, unsigned flags) {
  CUstreamBatchMemOpParams params{};
  params.writeValue = {operation, address, {}, flags, 0};  // of one layout with waitValue
  params.writeValue.value64 = value;
  return submit_all(stream, 1, &params, 0);
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams* params,
                               unsigned flags) {
  return submit_all(stream, count, params, flags);
}

// One row for each call.
#define SIMGPU_VALUE(name, operation, bits)                                                          \
  CUresult name(CUstream stream, CUdeviceptr address, cuuint##bits##_t value, unsigned flags) {      \
    return submit_value(CU_STREAM_MEM_OP_##operation##_VALUE_##bits, stream, address, value, flags); \
  }

SIMGPU_VALUE(cuStreamWaitValue32_v2, WAIT, 32)
SIMGPU_VALUE(cuStreamWaitValue64_v2, WAIT, 64)
SIMGPU_VALUE(cuStreamWriteValue32_v2, WRITE, 32)
SIMGPU_VALUE(cuStreamWriteValue64_v2, WRITE, 64)
