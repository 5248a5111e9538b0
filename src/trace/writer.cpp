// Log lines out. Must not buffer: what is buffered is lost when the program is killed.
#include "trace/writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace refrain::trace {
namespace {

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::string rank() {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  return "0";
}

std::string host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H%M%S", &parts);
  return text;
}

}  // namespace

std::string expand_path(const std::string& path, const std::string& program) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%' || i + 1 == path.size()) {
      out += path[i];
      continue;
    }
    switch (path[++i]) {
      case 'e': out += program; break;
      case 'p': out += std::to_string(getpid()); break;
      case 'h': out += host(); break;
      case 't': out += time_of_day(); break;
      case 'r': out += rank(); break;
      case '%': out += '%'; break;
      default: out.append("%").append(1, path[i]);
    }
  }
  return out;
}

std::string rotated_path(const std::string& path) {
  return path + ".1";
}

Writer::~Writer() {
  close_file();
}

std::string Writer::open(const std::string& path, bool overwrite) {
  // Locked while it is written: a child with the same options as the process that started it takes another
  // name.
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_EXCL, 0644);
  const bool existed = file_ < 0 && errno == EEXIST;
  // What is no file may wait for ever for a reader, or be a device that all programs share.
  struct stat found {};
  if (existed && ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode))
    return "log " + path + " exists and is no file; name another";
  if (existed) file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  std::string error;
  if (file_ < 0) {
    error = "log " + path + " cannot be written: " + std::strerror(errno);
  } else if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close_file();
    return open(path + "." + std::to_string(getpid()), overwrite);
  } else if (existed && !overwrite) {
    error = "log " + path + " exists; overwrite it with --force or REFRAIN_FORCE=1, or name another";
  } else if (most_bytes_ != 0 && !overwrite && ::lstat(rotated_path(path).c_str(), &found) == 0) {
    ::unlink(path.c_str());
    error = "log " + rotated_path(path) +
            " exists; overwrite it with --force or REFRAIN_FORCE=1, or name another";
  } else if (existed && ftruncate(file_, 0) != 0) {
    error = "log " + path + " cannot be overwritten: " + std::strerror(errno);
  }
  if (!error.empty()) {
    close_file();
    return error;
  }
  path_ = path;
  start_ns_ = monotonic_ns();
  return {};
}

void Writer::close_file() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void Writer::write_header(const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json line = {{"kind", "header"}, {"schema", event::kSchema}};
  line.update(fields);
  write_line(line);
  // Bytes that are no UTF-8 were replaced in the same way.
  header_ = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

// Where the new file cannot be had, the log goes on in the old one.
void Writer::rotate() {
  const std::string before = rotated_path(path_);
  if (std::rename(path_.c_str(), before.c_str()) != 0) return;
  const int fresh = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_EXCL, 0644);
  if (fresh < 0 || flock(fresh, LOCK_EX | LOCK_NB) != 0) {
    if (fresh >= 0) ::close(fresh);
    std::rename(before.c_str(), path_.c_str());
    most_bytes_ = 0;
    return;
  }
  close_file();
  file_ = fresh;
  file_bytes_ = 0;
  write_text(header_);
}

void Writer::end(event::End event) {
  if (file_ < 0) return;
  event.events = events_;
  event.dropped = dropped_;
  write(event);
  close_file();
}

std::uint64_t Writer::elapsed_ns() const noexcept {
  return monotonic_ns() - start_ns_;
}

void Writer::write_line(const nlohmann::ordered_json& line) {
  if (file_ < 0) return;
  // Bytes that are no UTF-8 (an argument of the program, say) are replaced, not thrown at the program.
  std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text += '\n';
  write_text(text);
  if (most_bytes_ != 0 && file_bytes_ > most_bytes_ && !header_.empty()) rotate();
}

void Writer::write_text(const std::string& text) {
  ssize_t written = -1;
  do {
    written = ::write(file_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) {
    file_bytes_ += text.size();
    return;
  }
  ++dropped_;
  // Half a line would spoil the next one, and with it the whole log.
  if (written > 0 && ftruncate(file_, static_cast<off_t>(file_bytes_)) != 0)
    file_bytes_ += static_cast<std::uint64_t>(written);
}

}  // namespace refrain::trace
