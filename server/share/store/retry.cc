#include "server/share/store/retry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace headgate::store {

absl::Duration Retry::PauseAfter(int failures) {
  const absl::Duration pause =
      std::min(options_.first * (int64_t{1} << std::min(failures - 1, 30)), options_.longest);
  const double unit = static_cast<double>(random_() >> 11) * 0x1p-53;
  return pause * (0.5 + unit / 2);
}

absl::Status Retry::Run(absl::FunctionRef<absl::Status()> transaction,
                        absl::FunctionRef<absl::Status(absl::Duration)> pause) {
  for (int attempt = 1;; ++attempt) {
    absl::Status status = transaction();
    if (!absl::IsAborted(status)) return status;
    ++rolled_back_;
    if (attempt >= options_.attempts) {
      return absl::AbortedError(
          absl::StrCat("rolled back ", attempt, " times because of others: ", status.message()));
    }
    if (!pause(PauseAfter(attempt)).ok()) return status;
  }
}

}  // namespace headgate::store
