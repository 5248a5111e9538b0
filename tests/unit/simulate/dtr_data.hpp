// Where the published logs and scores are, for tests that need them; they are no part of this project.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace refrain::simulate {

// Empty: not here.
inline std::filesystem::path dtr_data() {
  const char* named = std::getenv("REFRAIN_DTR_DATA");
  const std::filesystem::path folder = named ? named : SOURCE_FOLDER "/../shared/data/dtr";
  return std::filesystem::exists(folder / "models.csv") ? folder : std::filesystem::path();
}

#define NEED_DTR_DATA() \
  if (dtr_data().empty()) GTEST_SKIP() << "the published DTR logs are not here: set REFRAIN_DTR_DATA"

// Sanitised builds take ten times as long: they go through the two shortest logs only.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kEveryModel = false;
#else
inline constexpr bool kEveryModel = true;
#endif
inline bool left_out(const std::string& model) {
  return !kEveryModel && model != "resnet32" && model != "unet";
}

// By column name.
inline std::vector<std::map<std::string, std::string>> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = cells_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size() && i < columns.size(); ++i) row[columns[i]] = cells[i];
  }
  return rows;
}

}  // namespace refrain::simulate
