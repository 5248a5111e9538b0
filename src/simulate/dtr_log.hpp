// Reader of the logs published with DTR (github.com/uwsampl/dtr-prototype, simrd/logs.zip): JSON lines, one
// instruction each. Must not hold a log as text or JSON: a line is forgotten once it is understood.
#pragma once

#include <istream>
#include <string>

#include "simulate/json_lines.hpp"
#include "simulate/operator_log.hpp"

namespace refrain::simulate {

// Everything after the first ANNOTATE START. A MUTATE becomes an op that makes a new storage, as large as the
// old one, that takes over the name; a CONSTANT an op of that kind. A RELEASE of an unknown name is passed
// over, as the published reader does; every other use of a name that is not there, or no longer, is an error.
// Throws LogError. name: what errors call the log.
OperatorLog read_dtr_log(std::istream& in, const std::string& name);

}  // namespace refrain::simulate
