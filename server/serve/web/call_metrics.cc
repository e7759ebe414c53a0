#include <cstddef>

#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

using transport::LatencyCounts;

// With the bounds from 2^least to 2^most ns.
HistogramValue ToHistogram(const LatencyCounts& counts, int least, int most) {
  HistogramValue value;
  value.sum = static_cast<double>(counts.sum_ns) / 1e9;
  for (size_t i = 0; i < LatencyCounts::kBuckets; ++i) {
    value.count += counts.buckets[i];
    const int exponent = LatencyCounts::kLeastExponent + static_cast<int>(i);
    if (exponent < least || exponent > most) continue;
    value.buckets.push_back(
        {static_cast<double>(LatencyCounts::UpperBoundNs(i)) / 1e9, value.count});
  }
  return value;
}

}  // namespace

void AddCalls(const transport::Calls& calls, Exposition& out) {
  out.Histogram("headgate_decision_duration_seconds",
                "How long it takes to decide a Check that comes alone. Every 64th is timed.")
      .Set({}, ToHistogram(calls.ReadDecisions(), 7, 20));
  out.Gauge("headgate_streams_open", "CheckStreams that are open.")
      .Set({}, calls.ReadStreamsOpen());
  auto count = out.Counter("headgate_rpcs_total",
                           "RPCs that were answered, by code. Of CheckStream, streams that ended.");
  auto duration = out.Histogram(
      "headgate_rpc_duration_seconds",
      "How long RPCs take in the server, from the parsed request to the answer. Of Check, "
      "BatchCheck, Report and the messages of CheckStream every 64th is timed, of others all.");
  for (const auto& [method, totals] : calls.ReadMethods()) {
    for (size_t code = 0; code < totals.codes.size(); ++code) {
      if (totals.codes[code] == 0 && code != 0) continue;
      count.Set({{"method", method}, {"code", transport::CodeName(code)}}, totals.codes[code]);
    }
    duration.Set({{"method", method}}, ToHistogram(totals.latency, 10, 33));
  }
}

}  // namespace headgate::web
