// Reader of what `refrain run --record` wrote (docs/trace-format.md).
#pragma once

#include <istream>
#include <string>

#include "simulate/json_lines.hpp"
#include "simulate/trace.hpp"

namespace refrain::simulate {

// Buffers without any pages are left out. What ops cost is what was last said of their class; what was
// thought of it before are steps. Pages are as large as all buffers' own allow. A barrier is an op that may
// have written everything. Throws LogError; a record without its end is one.
Trace read_record(std::istream& in, const std::string& name);

}  // namespace refrain::simulate
