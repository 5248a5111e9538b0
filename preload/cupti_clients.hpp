// Programs that use CUPTI themselves: refrain gives it up before they get at it, because it serves one
// client. Knows nothing of what they do with it.
#pragma once

namespace refrain::preload {

// What dlsym is to answer for a name of CUPTI's.
void* cupti_function(void* handle, const char* name);

}  // namespace refrain::preload
