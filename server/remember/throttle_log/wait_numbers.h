// Waits as numbers in a row, as both stores keep them: in the order of the structure's fields,
// times in microseconds.
//
// Pure functions.
//
//   WaitsOf(NumbersOf(waits)) == waits, to the microsecond

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

inline constexpr std::array kWaitCounts = {&Waits::began, &Waits::admitted, &Waits::denied,
                                           &Waits::left};
inline constexpr std::array kWaitTimes = {&Waits::waited_ns, &Waits::held_ns, &Waits::longest_ns};
inline constexpr int64_t kNsPerUs = 1000;

using WaitNumbers = std::array<int64_t, kWaitCounts.size() + kWaitTimes.size() + Waits::kPlaces>;

inline WaitNumbers NumbersOf(const Waits& waits) {
  WaitNumbers numbers{};
  auto next = numbers.begin();
  for (const auto count : kWaitCounts) *next++ = waits.*count;
  for (const auto time : kWaitTimes) *next++ = waits.*time / kNsPerUs;
  std::copy(waits.ended_within.begin(), waits.ended_within.end(), next);
  return numbers;
}

inline Waits WaitsOf(const WaitNumbers& numbers) {
  Waits waits;
  auto next = numbers.begin();
  for (const auto count : kWaitCounts) waits.*count = *next++;
  for (const auto time : kWaitTimes) waits.*time = *next++ * kNsPerUs;
  std::copy(next, numbers.end(), waits.ended_within.begin());
  return waits;
}

}  // namespace headgate::throttle_log
