// The C++ runtime knows how names are mangled; nothing of it is repeated here.
#include "access/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace refrain::access {

std::string demangled(const std::string& name) {
  // Types have mangled names too: `f` alone would become "float".
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(text.get()) : name;
}

}  // namespace refrain::access
