// What a test can tell the stand-in for CUPTI, and ask it. Found by dlsym in libcupti.so.13: nothing links
// it.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

struct FakeCupti {
  // What is to go wrong
  std::string refused;  // the function that answers with `refusal`
  CUptiResult refusal = CUPTI_ERROR_NOT_INITIALIZED;
  std::uint32_t version = CUPTI_API_VERSION;
  bool drop = false;             // records are lost from here on
  bool without_times = false;    // they come, with zeros for times
  bool backwards = false;        // they end before they begin
  bool shuffled = false;         // a buffer's records come last to first
  bool runtime_numbers = false;  // they bear the number of the runtime's call
  bool of_a_graph = false;       // they come from a graph's kernel
  bool threaded = false;         // buffers are handed over by a thread, full ones at any moment

  // What it is asked for
  bool subscribed = false;
  bool recording = false;
  int callbacks_enabled = 0;
  int buffers_out = 0;  // those that the client has not got back
  int buffers_given = 0;
  int flushes = 0;
  std::uint8_t pinned = 0;
};

extern "C" {
FakeCupti* fake_cupti();
// One launch by this thread, as the driver's call that CUPTI watches; and the runtime's call that one may be
// inside of.
void fake_cupti_launch(std::uint64_t ns);
void fake_cupti_enter_runtime();
void fake_cupti_exit_runtime();
}
