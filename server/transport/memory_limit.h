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
// Thread-compatible.
//
//   for (int connection : limit.Judge(memory.Grown(), {{7, 3 << 20}}, absl::Milliseconds(25))) ...

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
    // A connection that brought less without an answer is no reason for it.
    int64_t least_unanswered = int64_t{32} << 10;  // bytes
    absl::Duration patience = absl::Seconds(1);
  };
  // A connection, and the bytes that it brought without being answered.
  using Unanswered = std::pair<int, int64_t>;

  explicit MemoryLimit(const Options& options) : options_(options) {}

  // Whether Judge is to be asked before it is time for it.
  bool IsBeyond(int64_t grown) const { return grown > options_.growth; }
  // Those to be closed.
  std::vector<int> Judge(int64_t grown, std::vector<Unanswered> connections,
                         absl::Duration since_last);

 private:
  bool MustCut(int64_t grown, absl::Duration since_last);

  const Options options_;
  int64_t cut_at_ = 0;     // how far it had grown when connections went; 0: it is within the limit
  absl::Duration waited_;  // since then
};

}  // namespace headgate::transport
