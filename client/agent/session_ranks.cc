#include "client/agent/session_ranks.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace headgate::agent {
namespace {

constexpr int64_t kTimesEachNs = 450'000'000;

// An account without privileges may change autogroups ten times a second.
size_t MostRelieved(const Means& means) {
  return means.kind == Means::Kind::kAutogroup ? 1 : YieldPlan::kMostRelieved;
}

}  // namespace

SessionRanks::SessionRanks(Processes& processes, Journal& journal, const Options& options)
    : processes_(processes),
      postmaster_(options.postmaster),
      plan_(MostRelieved(options.means)),
      floor_(options.processors),
      yielder_(processes, journal, options.means) {}

std::vector<Yielder::Change> SessionRanks::Look(Sight sight, int64_t now_ns) {
  ReadProcessorTimes(sight.sessions, now_ns);
  const bool relieves = Relieves(sight.sessions, now_ns);
  return yielder_.Apply(
      plan_.Decide(sight.sessions, sight.waits, {.monotonic_ns = now_ns, .relieves = relieves}),
      postmaster_);
}

void SessionRanks::ReadProcessorTimes(std::vector<BatchSession>& sessions, int64_t now_ns) {
  if (now_ns - times_at_ns_ < kTimesEachNs) return;
  times_at_ns_ = now_ns;
  for (BatchSession& session : sessions) {
    if (plan_.AsksProcessorTime(session)) session.ran_ns = processes_.ProcessorNs(session.pid);
  }
}

bool SessionRanks::Relieves(std::vector<BatchSession>& sessions, int64_t now_ns) {
  const auto wanting = std::count_if(sessions.begin(), sessions.end(),
                                     [](const BatchSession& session) { return session.wants(); });
  if (floor_.AsksProcessorTime(now_ns, static_cast<size_t>(wanting))) {
    size_t counted = 0;
    for (const bool is_at_work : {true, false}) {
      for (BatchSession& session : sessions) {
        if ((session.work != Work::kNone) != is_at_work) continue;
        if (counted++ == ProcessorFloor::kMostCounted) break;
        if (!session.ran_ns.has_value()) session.ran_ns = processes_.ProcessorNs(session.pid);
      }
    }
  }
  return floor_.Decide(sessions, now_ns);
}

}  // namespace headgate::agent
