#include "client/agent/work_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headgate::agent {
namespace {

// Null: it is not counted.
double* PlaceOf(Work work, WorkSeconds& seconds) {
  switch (work) {
    case Work::kProcessor:
      return &seconds.processor;
    case Work::kDisk:
      return &seconds.disk;
    case Work::kLocks:
      return &seconds.locks;
    case Work::kStandbys:
      return &seconds.standbys;
    case Work::kOther:
      return &seconds.other;
    case Work::kNone:
      break;
  }
  return nullptr;
}

}  // namespace

void WorkTimes::Note(absl::Span<const Work> sessions, int64_t now_ns) {
  const int64_t before_ns = std::exchange(noted_ns_, now_ns);
  if (before_ns == 0) return;
  const double passed = static_cast<double>(now_ns - before_ns) * 1e-9;
  const double kept = std::exp(-passed / kMemoryS);
  for (double* seconds :
       {&recent_.processor, &recent_.disk, &recent_.locks, &recent_.standbys, &recent_.other}) {
    *seconds *= kept;
  }
  for (const Work work : sessions) {
    for (WorkSeconds* seconds : {&all_, &recent_}) {
      if (double* const place = PlaceOf(work, *seconds); place != nullptr) {
        *place += std::min(passed, kMostS);
      }
    }
  }
}

}  // namespace headgate::agent
