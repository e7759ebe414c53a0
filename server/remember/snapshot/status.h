// How the snapshot fares, for whoever shows it: GetStatus and /metrics.
//
// SnapshotStatus in status_service.proto says what each field means. Plain data.

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::snapshot {

struct SnapshotView {
  std::string path = {};  // empty: there is no folder to keep it in
  absl::Time as_of = absl::InfinitePast();
  int64_t bytes = 0;
  absl::Status status = {};  // of the newest write
  int64_t failed_writes = 0;
  absl::Time restored_from = absl::InfinitePast();  // infinite: nothing was restored
  int64_t restored_permits = 0;
  int64_t restored_buckets = 0;
  absl::Status refused = {};
  std::string set_aside = {};
};

}  // namespace headgate::snapshot
