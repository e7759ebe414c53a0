#include "client/agent/reporting.h"

#include <algorithm>
#include <utility>

#include "common/utf8.h"

namespace headgate::agent {
namespace {

constexpr size_t kMostNameBytes = 128;
constexpr size_t kMostMeansBytes = 1024;

// Printable, and at most so many bytes. No character is cut in two.
std::string Shown(const std::string& text, size_t most) {
  std::string shown = EscapeHarmful(text);
  if (shown.size() <= most) return shown;
  constexpr unsigned char kMask = 0xc0, kContinues = 0x80;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & kMask) == kContinues) --end;
  shown.resize(end);
  return shown;
}

}  // namespace

absl::Status Reporting::Watch(Database& database, Yielder& yielder, const Look& look) {
  if (headgated_ == nullptr || is_standby_) return absl::OkStatus();
  if (!look.changed && look.now_ns - told_at_ns_ < kEachNs) return absl::OkStatus();
  told_at_ns_ = look.now_ns;
  yielder.CountProcessorTime();
  if (yielder.processor_seconds() < processor_seconds_) {  // another one
    processor_seconds_before_ += processor_seconds_;
  }
  processor_seconds_ = yielder.processor_seconds();
  const std::vector<Assignment> yielding =
      yielder.Some(Yielder::Which::kYield, AgentReport::kMostNamed);
  const std::vector<Assignment> raised =
      yielder.Some(Yielder::Which::kRaised, AgentReport::kMostNamed);
  absl::Status named = RefreshNames(database, yielding, raised, look.now_ns);
  if (!named.ok()) return named;
  AgentReport report{.yields = true,
                     .means = look.means,
                     .yielding = yielder.yielding(),
                     .raised = yielder.raised(),
                     .counted = look.counted,
                     .processor_seconds = processor_seconds_before_ + processor_seconds_};
  for (const Assignment& one : yielding) report.yielding_sessions.push_back(NamedOf(one.pid));
  for (const Assignment& one : raised) {
    AgentReport::Raised& shown = report.raised_sessions.emplace_back();
    shown.session = NamedOf(one.pid);
    if (one.rank == Rank::kRaisedForWaiter) shown.waiter = NamedOf(one.waiter);
  }
  headgated_->Tell(report);
  return absl::OkStatus();
}

absl::Status Reporting::RefreshNames(Database& database, const std::vector<Assignment>& yielding,
                                     const std::vector<Assignment>& raised, int64_t now_ns) {
  std::vector<int> pids;
  pids.reserve(yielding.size() + 2 * raised.size());
  for (const Assignment& one : yielding) pids.push_back(one.pid);
  for (const Assignment& one : raised) {
    pids.push_back(one.pid);
    if (one.rank == Rank::kRaisedForWaiter) pids.push_back(one.waiter);
  }
  if (pids.empty()) return absl::OkStatus();
  const bool is_new =
      std::any_of(pids.begin(), pids.end(), [this](int pid) { return !names_.contains(pid); });
  if (now_ns - named_at_ns_ < (is_new ? kEachNs : kNamesEachNs)) return absl::OkStatus();
  named_at_ns_ = now_ns;
  absl::StatusOr<std::vector<NamedSession>> named = database.Names(pids);
  if (!named.ok()) return named.status();
  names_.clear();
  for (const int pid : pids) names_[pid].pid = pid;  // one that has ended is not asked for again
  for (NamedSession& session : *named) {
    session.role = Shown(session.role, kMostNameBytes);
    session.application_name = Shown(session.application_name, kMostNameBytes);
    names_[session.pid] = std::move(session);
  }
  return absl::OkStatus();
}

NamedSession Reporting::NamedOf(int pid) const {
  const auto found = names_.find(pid);
  return found == names_.end() ? NamedSession{.pid = pid} : found->second;
}

bool Reporting::SetStandby(bool is_standby) {
  if (headgated_ == nullptr || is_standby == is_standby_) return false;
  is_standby_ = is_standby;
  if (is_standby) headgated_->FallSilent();
  return true;
}

void Reporting::TellTrouble(const std::string& why, const Counted& counted) {
  if (headgated_ == nullptr || is_standby_) return;
  headgated_->Tell({.yields = false,
                    .means = Shown(why, kMostMeansBytes),
                    .counted = counted,
                    .processor_seconds = processor_seconds_before_ + processor_seconds_});
}

}  // namespace headgate::agent
