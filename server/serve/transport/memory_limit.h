// MemoryLimit: which connections are to go when callers hold more memory than they may.
//
// gRPC counts the bytes of messages under way, and not what it makes of them: of a message in
// frames of one byte each is forty in memory, and a call that its caller opens and resets at once,
// a hundred bytes on the wire, is 11 KiB until gRPC gets round to it. So what they hold of the
// process's memory is looked at itself (see ProcessMemory). When it has grown too far, the
// connections go that brought most without being answered: callers who wait for answers have none
// or little of that. Half of what was brought so goes at once, and more only as memory goes on
// growing: gRPC takes its time to free it, and what does not come back is the fault of nobody who
// is there now. So memory is bounded by the limit and what comes between two looks, and where
// nothing grows nobody is cut.
//
// Where nobody brought much unanswered and memory grows, those go that bring most at the time:
// frames that gRPC acknowledges by itself look as if they had been answered.
//
// Thread-compatible.
//
//   for (int connection : limit.Judge(held, {.unanswered = {{7, 3 << 20}}})) ...

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace headgate::transport {

class MemoryLimit {
 public:
  struct Options {
    int64_t growth = int64_t{192} << 20;  // bytes that callers hold
    // A connection that brought less is no reason for it.
    int64_t least_brought = int64_t{32} << 10;  // bytes
    // All together that brought less are none either.
    int64_t least_in_all = 0;  // bytes
    // Whether those go that brought most lately, where nobody brought much unanswered.
    enum class Lately { kGo, kStay } lately = Lately::kGo;
  };
  // Connections, each with the bytes that it brought.
  using Bytes = std::vector<std::pair<int, int64_t>>;
  struct Brought {
    Bytes unanswered;
    Bytes lately = {};  // since Judge was asked before, answered or not
  };

  explicit MemoryLimit(const Options& options) : options_(options) {}

  // Whether connections would go, so that Judge is to be asked before it is time for it.
  bool IsBeyond(int64_t held) const;
  // Those to be closed. Where nobody is to go it takes no memory.
  std::vector<int> Judge(int64_t held, const Brought& brought);

 private:
  // The connections with the most bytes, which have half of all.
  std::vector<int> LargestHalf(Bytes connections) const;

  // The same as IsBeyond, from look to look.
  bool Grows(int64_t held);

  const Options options_;
  // The least that was held since connections went, beyond which it has to grow by more than what
  // comes and goes; none: it has been within the limit since.
  std::optional<int64_t> least_since_cut_;
};

}  // namespace headgate::transport
