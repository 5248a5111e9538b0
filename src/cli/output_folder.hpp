// Whether a file could be written where it is to be, before anything else is done.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cli/usage_error.hpp"

namespace refrain::cli {

// what: the path as messages name it. Throws UsageError.
inline void check_folder_of(const std::string& path, const std::string& what, int exit_code) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const bool there = std::filesystem::is_directory(folder);
  if (there && ::access(folder.c_str(), W_OK) == 0) return;
  throw UsageError(exit_code, fmt::format("{} cannot be written: folder {} {}", what, folder.string(),
                                          there ? "is not writable" : "does not exist"));
}

}  // namespace refrain::cli
