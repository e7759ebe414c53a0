#include "server/share/cluster/state_keeping.h"

namespace headgate::cluster {

bool StateKeeping::OnTried(const absl::Status& status, bool rounds_go_well, int64_t now_ns) {
  if (!status.ok() && !rounds_go_well) {
    otherwise_since_ns_.reset();
    return false;
  }
  const bool has_something_to_lose = has_worked_;
  has_worked_ = has_worked_ || status.ok();
  if (status.ok() == keeps_) {
    otherwise_since_ns_.reset();
    if (status == status_) return false;
  } else {
    if (!otherwise_since_ns_.has_value()) otherwise_since_ns_ = now_ns;
    if (has_something_to_lose && now_ns - *otherwise_since_ns_ < lease_ns_) return false;
    otherwise_since_ns_.reset();
    keeps_ = status.ok();
  }
  if (status_.ok()) failed_at_ns_ = now_ns;
  status_ = status;
  return true;
}

}  // namespace headgate::cluster
