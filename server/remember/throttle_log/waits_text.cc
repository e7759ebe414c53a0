#include "server/remember/throttle_log/waits_text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"
#include "server/remember/throttle_log/wait_numbers.h"

namespace headgate::throttle_log {
std::string WaitsText(const Waits& waits) { return absl::StrJoin(NumbersOf(waits), " "); }

Waits ParseWaits(std::string_view text) {
  WaitNumbers numbers{};
  auto next = numbers.begin();
  for (const absl::string_view number : absl::StrSplit(Sv(text), ' ')) {
    if (next == numbers.end()) break;
    if (!absl::SimpleAtoi(number, &*next)) *next = 0;
    ++next;
  }
  return WaitsOf(numbers);
}

}  // namespace headgate::throttle_log
