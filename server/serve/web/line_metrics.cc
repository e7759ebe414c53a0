#include <cstddef>
#include <string_view>

#include "absl/time/time.h"
#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

using line::WaitEnd;
using line::WaitTimes;

// Every second bound: 1 ms, 4 ms, 16 ms, ... 70 min.
HistogramValue ToHistogram(const WaitTimes& times) {
  HistogramValue value;
  value.sum = absl::ToDoubleSeconds(times.sum());
  for (size_t place = 0; place < WaitTimes::kPlaces; ++place) {
    value.count += times.counts()[place];
    if (place % 2 != 0 || place + 1 == WaitTimes::kPlaces) continue;
    value.buckets.push_back({absl::ToDoubleSeconds(WaitTimes::UpperBound(place)), value.count});
  }
  return value;
}

std::string_view NameOf(WaitEnd end) {
  switch (end) {
    case WaitEnd::kAdmitted:
      return "admitted";
    case WaitEnd::kTimedOut:
      return "timed_out";
    case WaitEnd::kLeft:
      return "left";
    case WaitEnd::kEnded:
      return "ended";
  }
  return "";
}

}  // namespace

void AddWaiting(const line::LineStats& lines, Exposition& out) {
  out.Gauge("headgate_waiting", "Checks that wait in the server for their turn.")
      .Set({}, lines.waiting);
  out.Gauge("headgate_waiting_max", "Checks that may wait in the server; 0: none may.")
      .Set({}, lines.max_waiting);
  out.Gauge("headgate_waiting_lines", "Limits that Checks wait for.").Set({}, lines.waited_in);
  out.Gauge("headgate_waiting_longest_seconds",
            "How long the Check that came first of those that wait has waited; 0: none waits.")
      .Set({}, absl::ToDoubleSeconds(lines.oldest));
  out.Gauge("headgate_waiting_places",
            "Places that are kept in lines for callers that poll and were told when to come back.")
      .Set({}, lines.places);
  out.Gauge("headgate_lease_watches",
            "Holders of leases that wait for orders; the server takes 5120.")
      .Set({}, lines.watches);
  out.Counter("headgate_waits_total", "Checks that were let into a line.").Set({}, lines.entered);
  auto ended = out.Counter(
      "headgate_waits_ended_total",
      "Checks whose wait has ended, by how: admitted, timed_out (denied when their time was up), "
      "left (their caller went away) or ended (by a stop, by rights that changed, by an error or "
      "by what time does not cure).");
  auto duration = out.Histogram("headgate_wait_duration_seconds",
                                "How long Checks waited, by how their wait ended.");
  for (const auto end : {WaitEnd::kAdmitted, WaitEnd::kTimedOut, WaitEnd::kLeft, WaitEnd::kEnded}) {
    ended.Set({{"end", NameOf(end)}}, lines.WaitsThat(end).count());
    duration.Set({{"end", NameOf(end)}}, ToHistogram(lines.WaitsThat(end)));
  }
  out.Counter("headgate_waits_turned_away_total",
              "Checks that would have waited and were denied, because as many waited as may: in "
              "all, or of their caller.")
      .Set({{"most", "all"}}, lines.refused_full)
      .Set({{"most", "caller"}}, lines.refused_caller_full);
}

}  // namespace headgate::web
