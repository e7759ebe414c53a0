// ProcessMemory: by how much this process has grown since the server began to listen.
//
// The tables of a new configuration are no callers' doing: who installs them says how large they
// are. Memory that was freed but is still the process's is not counted, and is given back to the
// system when it is much.
//
// Thread-safe. Grown takes a few microseconds; once the process is far larger than at the start, as
// long as the C library takes to count what is free, which is some milliseconds.
//
//   ProcessMemory memory;
//   ... memory.Grown() ...

#pragma once

#include <atomic>
#include <cstdint>

#include "common/file_descriptor.h"

namespace headgate::transport {

// What the C library has given out and not got back. Of a sanitizer's allocator it knows nothing:
// 0.
int64_t AllocatedBytes();

class ProcessMemory {
 public:
  ProcessMemory();

  // Bytes. 0 where the system does not tell.
  int64_t Grown();
  // So many bytes more, or fewer, are not of callers.
  void Allow(int64_t bytes);

 private:
  int64_t ResidentBytes() const;

  const FileDescriptor statm_;
  const int64_t resident_at_start_;
  // relaxed, all: numbers that order nothing.
  std::atomic<int64_t> allowed_bytes_;
  std::atomic<int> looks_until_trim_{0};
};

}  // namespace headgate::transport
