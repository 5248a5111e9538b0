// What one event adds to the totals of a log that has no end line.
#pragma once

#include "trace/reader.hpp"

namespace refrain::report {

void add_to_totals(event::End& totals, const trace::Event& event);

}  // namespace refrain::report
