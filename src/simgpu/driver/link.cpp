// cuLink*: several PTX texts made into one image. It must not keep code: what comes out is text again, known
// to be right.
#include <cstring>

#include "simgpu/driver/jit_log.hpp"
#include "simgpu/driver/module.hpp"
#include "simgpu/driver/session.hpp"
#include "simgpu/driver/settings.hpp"

namespace refrain::simgpu::driver {

struct LinkState {
  JitLog log{0, nullptr, nullptr};  // into buffers that the program keeps until the end
  std::vector<std::string> ptx;
  std::vector<char> image;
};

namespace {

template <class Body>
CUresult with_state(CUlinkState handle, Body body) {
  return api(Need::kContext,
             [&](Session& session) { body(session, *session.device.link_states.need(handle)); });
}

// The texts of an input. PTX need not end with a zero.
std::vector<std::string> texts_of(CUjitInputType type, const void* data, std::size_t bytes) {
  require(data != nullptr);
  switch (type) {
    case CU_JIT_INPUT_PTX: {
      const char* text = static_cast<const char*>(data);
      return {std::string(text, strnlen(text, bytes))};
    }
    case CU_JIT_INPUT_FATBINARY:
    case CU_JIT_INPUT_CUBIN: {
      Source source = choose_source(data);
      require(source.native == nullptr, CUDA_ERROR_INVALID_IMAGE);
      return std::move(source.ptx);
    }
    default: refuse("linking of anything but PTX and fat binaries");
  }
}

void append(LinkState& state, std::vector<std::string> texts) {
  require(state.image.empty());
  for (std::string& text : texts) state.ptx.push_back(std::move(text));
}

// Links once to see whether it can be done.
void try_to_link(Session& session, LinkState& state) {
  try {
    load_linked(state.ptx, session.device.memory, execution_settings(session.context->ordinal));
    state.log.write({});
  } catch (const LoadError& error) {
    say(error.what());
    state.log.write(error.what());
    throw CudaError(CUDA_ERROR_INVALID_PTX);
  }
}

}  // namespace
}  // namespace refrain::simgpu::driver

using namespace refrain::simgpu::driver;

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return api(Need::kContext, [&](Session& session) {
    require(out != nullptr && (count == 0 || (options != nullptr && values != nullptr)));
    auto state = std::make_shared<LinkState>();
    state->log = JitLog(count, options, values);
    session.device.link_states.add(state);
    *out = reinterpret_cast<CUlinkState>(state.get());
  });
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes, const char*,
                          unsigned, CUjit_option*, void**) {
  return with_state(handle, [&](Session&, LinkState& state) { append(state, texts_of(type, data, bytes)); });
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned, CUjit_option*,
                          void**) {
  return with_state(handle, [&](Session&, LinkState& state) {
    require(path != nullptr);
    if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY && type != CU_JIT_INPUT_CUBIN) {
      refuse("linking of anything but PTX and fat binaries");
    }
    append(state, choose_source_of_file(path).ptx);
  });
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* bytes) {
  return with_state(handle, [&](Session& session, LinkState& state) {
    require(image != nullptr && bytes != nullptr && !state.ptx.empty());
    if (state.image.empty()) {
      try_to_link(session, state);
      state.image = linked_image(state.ptx);
    }
    *image = state.image.data();
    *bytes = state.image.size();
  });
}

CUresult cuLinkDestroy(CUlinkState handle) {
  return with_state(handle,
                    [&](Session& session, LinkState& state) { session.device.link_states.remove(&state); });
}

CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return cuLinkCreate_v2(count, options, values, out);
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name,
                       unsigned count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, bytes, name, count, options, values);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned count,
                       CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}
