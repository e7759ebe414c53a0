// How Checks waited, summed up over some time: what the throttle log keeps of them.
//
// Plain data, thread-compatible.
//
//   waits.Add(other);
//   waits.CountEnd(Wait::kAdmitted, waited_ns);

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "common/waited_checks.h"
#include "server/decide/line/line_view.h"

namespace headgate::line {

struct Waits {
  // A wait that has ended is counted at the first of these that it is below, else at the last
  // place.
  static constexpr std::array<int64_t, 5> kBoundsMs = {100, 1000, 10'000, 60'000, 600'000};
  static constexpr size_t kPlaces = kBoundsMs.size() + 1;

  int64_t began = 0;
  int64_t admitted = 0;
  int64_t denied = 0;
  int64_t left = 0;  // without an answer
  int64_t waited_ns = 0;
  int64_t held_ns = 0;     // in which at least one Check of an identity waited
  int64_t longest_ns = 0;  // that one Check had waited, in all
  std::array<int64_t, kPlaces> ended_within{};

  int64_t ended() const { return admitted + denied + left; }
  // By how many Checks the time was waited, at least.
  int64_t checks() const { return WaitedChecks({began, ended(), waited_ns, longest_ns}); }
  bool empty() const { return began == 0 && ended() == 0 && waited_ns == 0 && held_ns == 0; }

  void CountEnd(WaitEnd end, bool answered, int64_t waited_in_all_ns) {
    int64_t& count = end == WaitEnd::kAdmitted ? admitted : answered ? denied : left;
    ++count;
    size_t place = 0;
    while (place < kBoundsMs.size() && waited_in_all_ns >= kBoundsMs[place] * 1'000'000) ++place;
    ++ended_within[place];
    longest_ns = std::max(longest_ns, waited_in_all_ns);
  }

  void Add(const Waits& other) {
    began += other.began;
    admitted += other.admitted;
    denied += other.denied;
    left += other.left;
    waited_ns += other.waited_ns;
    held_ns += other.held_ns;
    longest_ns = std::max(longest_ns, other.longest_ns);
    for (size_t i = 0; i < kPlaces; ++i) ended_within[i] += other.ended_within[i];
  }

  friend bool operator==(const Waits&, const Waits&) = default;
};

}  // namespace headgate::line
