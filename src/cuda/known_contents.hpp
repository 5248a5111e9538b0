// Bytes that the program copied from the host to the device a moment ago, kept while nothing else can have
// written there: indices that decide where a kernel reads, arrays of addresses. Whoever writes managed
// memory, or may, says so here first. Addresses and bytes only; not thread safe.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <vector>

#include "access/contents.hpp"

namespace refrain::cuda {

class KnownContents {
 public:
  static constexpr std::size_t kMostBytes = 256 * 1024;  // of one copy
  static constexpr std::size_t kMostTotalBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMostEntries = 1024;

  // A copy to [to, to + bytes) is about to be made. What of it may be kept is known when it is done: then
  // either arrived or failed must be called. 0: not kept.
  using Ticket = std::uint64_t;
  Ticket await(CUdeviceptr to, std::size_t bytes);
  // It was made, and read the host's bytes while the call lasted. They are taken now; unless somebody else
  // has used that memory since await, who might know that the copy is done and have changed them.
  void arrived(Ticket ticket, const void* from);
  void failed(Ticket ticket);

  // [begin, end) is used; written: by anything but a copy that is kept.
  void used(CUdeviceptr begin, CUdeviceptr end, bool written) {
    if (!entries_.empty() || !awaited_.empty()) note_use(begin, end, written);
  }
  // Anything may have been written; until the matching resume, at any moment.
  void forget_all();
  void suspend();
  void resume();
  // Somebody may write here whom nobody sees, until the memory is freed.
  void never(CUdeviceptr begin, CUdeviceptr end);
  void freed(CUdeviceptr begin, CUdeviceptr end);

  // What is known around an address, nullptr: nothing. Valid until the next call that changes something.
  const access::Contents* around(CUdeviceptr address) const;
  bool empty() const noexcept { return entries_.empty(); }

 private:
  struct Entry {
    access::Contents contents;
    std::uint64_t age;
  };
  struct Awaited {
    Ticket ticket;
    CUdeviceptr begin, end;
  };
  void note_use(CUdeviceptr begin, CUdeviceptr end, bool written);
  void drop(CUdeviceptr begin, CUdeviceptr end);
  void make_room(std::size_t bytes);
  bool is_never(CUdeviceptr begin, CUdeviceptr end) const;

  std::map<CUdeviceptr, Entry> entries_;  // by begin; never overlapping
  std::map<CUdeviceptr, CUdeviceptr> never_;
  std::vector<Awaited> awaited_;
  std::size_t total_bytes_ = 0;
  std::uint64_t last_ticket_ = 0;
  int suspended_ = 0;
};

}  // namespace refrain::cuda
