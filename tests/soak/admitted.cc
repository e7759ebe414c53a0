#include "tests/soak/admitted.h"

#include "absl/strings/str_cat.h"

namespace headgate::soak {
namespace {

constexpr double kRounding = 1e-6;  // of sums of a million doubles

}  // namespace

void Admitted::Admit(int64_t asked_ns, int64_t answered_ns, double cost) {
  MutexLock lock(&mutex_);
  whole_.admitted += cost;
  for (size_t i = 0; i < kLengthsNs.size(); ++i) {
    const int64_t first = (asked_ns - began_ns_) / kLengthsNs[i];
    const int64_t last = (answered_ns - began_ns_) / kLengthsNs[i];
    if (first == last) windows_[i][first].admitted += cost;
  }
}

void Admitted::Refund(int64_t asked_ns, int64_t answered_ns, double cost) {
  MutexLock lock(&mutex_);
  whole_.refunded += cost;
  for (size_t i = 0; i < kLengthsNs.size(); ++i) {
    const int64_t last = (answered_ns - began_ns_) / kLengthsNs[i];
    for (int64_t at = (asked_ns - began_ns_) / kLengthsNs[i]; at <= last; ++at) {
      windows_[i][at].refunded += cost;
    }
  }
}

absl::Status Admitted::Verify(int64_t now_ns) const {
  const auto verify = [&](const Window& window, double from_s, double length_s) {
    const double most = bound_.burst + bound_.rate * length_s + window.refunded;
    if (window.admitted <= most * (1 + kRounding)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("admitted ", window.admitted, " from second ", from_s,
                                            " in ", length_s, " s; it can be ", most));
  };
  MutexLock lock(&mutex_);
  absl::Status status = verify(whole_, 0, 1e-9 * static_cast<double>(now_ns - began_ns_));
  for (size_t i = 0; i < kLengthsNs.size(); ++i) {
    const double length_s = 1e-9 * static_cast<double>(kLengthsNs[i]);
    for (const auto& [at, window] : windows_[i]) {
      status.Update(verify(window, static_cast<double>(at) * length_s, length_s));
    }
  }
  return status;
}

double Admitted::total() const {
  MutexLock lock(&mutex_);
  return whole_.admitted;
}

}  // namespace headgate::soak
