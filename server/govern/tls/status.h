// How the certificates fare, for whoever shows it: GetStatus and /metrics.
//
// TlsStatus in status_service.proto says what each field means. Plain data.

#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::tls {

struct TlsSnapshot {
  bool is_on = false;
  absl::Time expires_at = {};  // of the certificate in force
  absl::Time loaded_at = {};
  int64_t loads = 0;         // that were taken, the first one included
  absl::Status status = {};  // of the newest files; an error: those before stay
};

}  // namespace headgate::tls
