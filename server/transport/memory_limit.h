// MemoryLimit: which connections are to go when the process has grown beyond what callers may take.
//
// gRPC counts the bytes of messages under way, and not what it makes of them: of a message in
// frames of one byte each is forty in memory, and a call that its caller opens and resets at once,
// a hundred bytes on the wire, is 11 KiB until gRPC gets round to it. So the memory itself is
// looked at. When it has grown too far, the connections go that brought most without being
// answered: callers who wait for answers have none or little of that. Half of what was brought so
// goes at once; more only if memory goes on growing, or has not come back in a while, since gRPC
// takes its time to free it.
//
// Where nobody brought much unanswered and memory grows, those go that bring most at the time:
// frames that gRPC acknowledges by itself look as if they had been answered.
//
// Thread-compatible.
//
//   for (int connection : limit.Judge(memory.Grown(), {.unanswered = {{7, 3 << 20}}}, tick)) ...

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace headgate::transport {

class MemoryLimit {
 public:
  struct Options {
    int64_t growth = int64_t{192} << 20;  // bytes
    // A connection that brought less is no reason for it.
    int64_t least_brought = int64_t{32} << 10;  // bytes
    absl::Duration patience = absl::Seconds(1);
  };
  // Connections, each with the bytes that it brought.
  using Bytes = std::vector<std::pair<int, int64_t>>;
  struct Brought {
    Bytes unanswered;
    Bytes lately = {};  // since Judge was asked before, answered or not
  };

  explicit MemoryLimit(const Options& options) : options_(options) {}

  // Whether Judge is to be asked before it is time for it.
  bool IsBeyond(int64_t grown) const { return grown > options_.growth; }
  // Those to be closed.
  std::vector<int> Judge(int64_t grown, Brought brought, absl::Duration since_last);

 private:
  // The connections with the most bytes, which have half of all.
  std::vector<int> LargestHalf(Bytes connections) const;

  const Options options_;
  int64_t cut_at_ = 0;     // how far it had grown when connections went; 0: it is within the limit
  absl::Duration waited_;  // since then
};

}  // namespace headgate::transport
