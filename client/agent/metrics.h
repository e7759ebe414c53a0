// The agent's metrics, as Prometheus reads them from a file: what node_exporter's textfile
// collector takes.
//
// Pure, but for WriteMetrics. Thread-safe.
//
//   WriteMetrics("/var/lib/node_exporter/headgate.prom", figures).IgnoreError();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace headgate::agent {

struct Figures {
  bool is_connected = false;
  bool yields = false;     // as the last probe said
  double probe_share = 1;  // what a lowered backend ran, as a share of another; 1: not known
  size_t yielding = 0;
  size_t raised = 0;
  uint64_t looks = 0;
  uint64_t raised_for_waiters = 0;
  uint64_t raised_for_starving = 0;
  uint64_t raised_for_floor = 0;
  uint64_t failures = 0;         // sessions that could not be changed
  double processor_seconds = 0;  // of sessions since they were first seen
};

std::string MetricsText(const Figures& figures);

// In place of the file, so that nobody reads half of it.
absl::Status WriteMetrics(const std::string& path, const Figures& figures);

}  // namespace headgate::agent
