// What the user states of kernels that the analysis cannot decide: JSON text in, entries or sentences about
// what is wrong with it out. A statement is believed, but never against what the analysis finds. It must not
// know launches or handles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.hpp"

namespace refrain::access {

struct StatedPointer {
  std::uint32_t offset_bytes = 0;  // in the parameter block, of an address of 8 bytes
  bool read = false;
  bool written = false;
  bool whole_overwrite = false;  // every launch writes all of the allocation that it points into
};

struct StatedKernel {
  std::string name;                     // mangled or demangled; with * at its end what begins so
  std::vector<StatedPointer> pointers;  // by offset; the launch touches nothing but through these
  bool replayable = false;              // the same inputs give the same outputs, bit for bit
};

struct Manifest {
  std::vector<StatedKernel> kernels;

  // The first that matches, or nullptr. Valid as long as the manifest.
  const StatedKernel* find(const std::string& mangled_name) const;
};

struct ParsedManifest {
  Manifest manifest;                // of no use where there are errors
  std::vector<std::string> errors;  // one sentence each, with file and position
};

// file: how the errors call it. Pure.
ParsedManifest parse_manifest(std::string_view text, const std::string& file);
// The same of a file's contents.
ParsedManifest read_manifest(const std::string& file);

// What the entry denies although the PTX does it, as a sentence about the kernel; empty: nothing.
std::string contradiction(const KernelAccess& facts, const StatedKernel& entry);

}  // namespace refrain::access
