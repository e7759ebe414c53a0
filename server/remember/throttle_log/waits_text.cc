#include "server/remember/throttle_log/waits_text.h"

#include <array>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"

namespace headgate::throttle_log {
namespace {

constexpr int64_t kNsPerUs = 1000;
constexpr std::array kCounts = {&Waits::began, &Waits::admitted, &Waits::denied, &Waits::left};
constexpr std::array kTimes = {&Waits::waited_ns, &Waits::held_ns, &Waits::longest_ns};

}  // namespace

std::string WaitsText(const Waits& waits) {
  std::array<int64_t, kCounts.size() + kTimes.size() + Waits::kPlaces> numbers{};
  auto next = numbers.begin();
  for (const auto count : kCounts) *next++ = waits.*count;
  for (const auto time : kTimes) *next++ = waits.*time / kNsPerUs;
  for (const int64_t count : waits.ended_within) *next++ = count;
  return absl::StrJoin(numbers, " ");
}

Waits ParseWaits(std::string_view text) {
  const std::vector<absl::string_view> numbers = absl::StrSplit(Sv(text), ' ');
  size_t next = 0;
  const auto take = [&] {
    int64_t number = 0;
    return next < numbers.size() && absl::SimpleAtoi(numbers[next++], &number) ? number : 0;
  };
  Waits waits;
  for (const auto count : kCounts) waits.*count = take();
  for (const auto time : kTimes) waits.*time = take() * kNsPerUs;
  for (int64_t& count : waits.ended_within) count = take();
  return waits;
}

}  // namespace headgate::throttle_log
