// ProcessorFloor: the processor time that batch work has at least, all of it together.
//
// Where others take all of the processors, who yields to them gets next to nothing: less than they
// would tolerate, and what it holds inside PostgreSQL it holds for as long. So where batch work has
// wanted to run for half a second and had less than the floor, some of its sessions are relieved:
// they have the rank that they came with until all of it has had what was missing.
//
// It is a floor and not a share: whoever gets more by itself is never relieved.
//
// Pure and thread-compatible. Times are monotonic.
//
//   ProcessorFloor::Look look{.now_ns = now_ns, .wants = true};
//   if (floor.AsksProcessorTime(look)) look.ran_ns = CountProcessorTime();
//   const bool relieves = floor.Decide(look);
#pragma once

#include <cstdint>
#include <optional>

namespace headgate::agent {

class ProcessorFloor {
 public:
  static constexpr int64_t kWatchedForNs = 500'000'000;
  // A relief that brings no processor time ends by itself.
  static constexpr int64_t kLongestReliefNs = 1'000'000'000;

  // `processors`: how many of them; 0: there is no floor.
  explicit ProcessorFloor(double processors) : processors_(processors) {}

  struct Look {
    int64_t now_ns = 0;
    bool wants = false;  // some session of batch work runs, or waits for a processor
    std::optional<int64_t> ran_ns = {};  // by all of them so far; absent: it was not looked at
  };
  // Whether this look has to say how much was run: seldom, where nobody wants to run.
  bool AsksProcessorTime(const Look& look) const;
  // Whether sessions are to be relieved until the next look.
  bool Decide(const Look& look);

 private:
  int64_t DueNs(int64_t now_ns) const;
  bool IsOver(const Look& look) const;
  // The watch so far: of what is at work now and then nobody knows how much of it is wanted.
  bool IsWanted() const { return 2 * wanted_ > looks_; }
  void Begin(const Look& look);

  const double processors_;
  bool relieves_ = false;
  // Of what is under way, a watch or a relief.
  int64_t since_ns_ = 0;
  std::optional<int64_t> ran_ns_ = {};  // by then; absent: nothing is under way
  int64_t missing_ns_ = 0;              // when the relief began
  int looks_ = 0, wanted_ = 0;          // of the watch
};

}  // namespace headgate::agent
