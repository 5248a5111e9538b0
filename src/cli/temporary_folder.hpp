// A folder that is gone with this object, with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace refrain::cli {

class TemporaryFolder {
 public:
  // purpose: a word for whoever finds it. Where it cannot be made, the path is empty.
  explicit TemporaryFolder(const std::string& purpose) {
    std::string name = (std::filesystem::temp_directory_path() / ("refrain-" + purpose + "-XXXXXX")).string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace refrain::cli
