// Record lines out. Must not grow with the program.
#include "trace/recorder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

namespace refrain::trace {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

// Text in quotes, whatever is in it.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Recorder::~Recorder() {
  if (file_ < 0) return;
  flush();
  ::close(file_);
}

std::string Recorder::open(const std::string& path, bool overwrite, const std::string& program) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
    return "record " + path + " exists and is no file; name another";
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL), 0644);
  if (file_ < 0 && errno == EEXIST)
    return "record " + path + " exists; overwrite it with --force or REFRAIN_FORCE=1, or name another";
  if (file_ < 0) return "record " + path + " cannot be written: " + std::strerror(errno);
  write(fmt::format(R"({{"kind":"record","schema":{},"program":{}}})", kRecordSchema, quoted(program)));
  return {};
}

void Recorder::write(const std::string& line) {
  pending_ += line;
  pending_ += '\n';
  if (pending_.size() >= kPieceBytes) flush();
}

void Recorder::flush() {
  const char* at = pending_.data();
  std::size_t left = pending_.size();
  while (left > 0 && !failed_) {
    const ssize_t written = ::write(file_, at, left);
    if (written < 0 && errno == EINTR) continue;
    failed_ = written <= 0;
    if (failed_) break;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  pending_.clear();
}

void Recorder::buffer(engine::BufferId buffer, engine::Bytes bytes, engine::Bytes shared_bytes, bool stays) {
  if (file_ < 0) return;
  const std::string shared = shared_bytes == 0 ? "" : fmt::format(R"(,"shared":{})", shared_bytes);
  if (buffers_.insert(buffer.index).second)
    write(fmt::format(R"({{"kind":"buffer","buffer":{},"bytes":{}{}}})", buffer.index, bytes, shared));
  if (stays) write(fmt::format(R"({{"kind":"stay","buffer":{}}})", buffer.index));
}

void Recorder::free(engine::BufferId buffer) {
  if (file_ < 0 || buffers_.erase(buffer.index) == 0) return;
  write(fmt::format(R"({{"kind":"free","buffer":{}}})", buffer.index));
}

void Recorder::name(std::uint32_t cost_class, const std::string& text) {
  if (file_ < 0 || !named_.insert(cost_class).second) return;
  write(fmt::format(R"({{"kind":"class","class":{},"name":{}}})", cost_class, quoted(text)));
}

void Recorder::op(std::span<const engine::BufferUse> uses, bool replayable, std::uint32_t cost_class) {
  if (file_ < 0) return;
  std::string list;
  for (const engine::BufferUse& use : uses) {
    const char* how = use.undefined            ? "x"
                      : !use.written           ? "r"
                      : use.whole && !use.read ? "W"
                      : use.read               ? "rw"
                                               : "w";
    fmt::format_to(std::back_inserter(list), R"({}[{},"{}"])", list.empty() ? "" : ",", use.buffer.index,
                   how);
  }
  write(fmt::format(R"({{"kind":"op","class":{},"again":{},"uses":[{}]}})", cost_class, replayable ? 1 : 0,
                    list));
  ++ops_;
}

void Recorder::barrier() {
  if (file_ >= 0) write(R"({"kind":"barrier"})");
}

void Recorder::cost(std::uint32_t cost_class, double ns) {
  if (file_ >= 0) write(fmt::format(R"({{"kind":"cost","class":{},"ns":{}}})", cost_class, ns));
}

bool Recorder::end() {
  if (file_ < 0) return true;
  write(fmt::format(R"({{"kind":"end","ops":{}}})", ops_));
  flush();
  ::close(file_);
  file_ = -1;
  return !failed_;
}

}  // namespace refrain::trace
