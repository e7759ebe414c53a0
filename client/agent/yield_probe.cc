#include "client/agent/yield_probe.h"

#include <poll.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/agent/proc_text.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/threads.h"

namespace headgate::agent {
namespace {

constexpr int kLookMs = 5;

// Both backends to one processor, the last that they may use.
absl::Status PinToOne(int backend, int other) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(backend, sizeof(allowed), &allowed) != 0) {
    return absl::ErrnoToStatus(errno, "sched_getaffinity");
  }
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) last = i;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  for (const int pid : {backend, other}) {
    if (sched_setaffinity(pid, sizeof(one), &one) == 0) continue;
    const std::string what = absl::StrCat("sched_setaffinity: ", std::strerror(errno));
    return errno == EPERM ? absl::PermissionDeniedError(what) : absl::FailedPreconditionError(what);
  }
  return absl::OkStatus();
}

// The kernel takes one autogroup in 0.1 s from who is not CAP_SYS_ADMIN.
absl::Status Insist(absl::FunctionRef<absl::Status()> act) {
  constexpr int kTries = 20, kPauseMs = 60;
  for (int i = 0; i < kTries; ++i) {
    absl::Status status = act();
    if (!absl::IsUnavailable(status)) return status;
    poll(nullptr, 0, kPauseMs);
  }
  return absl::DeadlineExceededError("the kernel takes no more changes");
}

// Two backends on one processor, each in a statement that does nothing but run.
class Spinners {
 public:
  explicit Spinners(const Database::Options& options) : options_(options) {}

  absl::Status Open();
  absl::Status Start(absl::Duration time);
  // To their ends, so that nothing of it is in the server's log.
  absl::Status Finish();

  // DeadlineExceeded: not before the statements were over.
  absl::Status WaitUntil(absl::FunctionRef<bool()> condition) const;

  int lowered() const { return lowered_->server().backend; }
  int other() const { return other_->server().backend; }
  int64_t RanNs(int pid) const { return options_.processes->ProcessorNs(pid).value_or(0); }

 private:
  const Database::Options options_;
  std::unique_ptr<Database> lowered_, other_;
  int64_t end_ns_ = 0;
};

absl::Status Spinners::Open() {
  for (std::unique_ptr<Database>* database : {&lowered_, &other_}) {
    absl::StatusOr<std::unique_ptr<Database>> opened = Database::Open(options_);
    if (!opened.ok()) return opened.status();
    *database = *std::move(opened);
  }
  if (!options_.processes->ProcessorNs(lowered()).has_value()) {
    return absl::FailedPreconditionError("the kernel has no /proc/PID/schedstat");
  }
  return PinToOne(lowered(), other());
}

absl::Status Spinners::Start(absl::Duration time) {
  absl::Status status = lowered_->StartSpinning(time);
  if (status.ok()) status = other_->StartSpinning(time);
  end_ns_ = options_.clock->Read().monotonic_ns + absl::ToInt64Nanoseconds(time);
  return status;
}

absl::Status Spinners::Finish() {
  absl::Status status = lowered_->FinishSpinning();
  status.Update(other_->FinishSpinning());
  return status;
}

absl::Status Spinners::WaitUntil(absl::FunctionRef<bool()> condition) const {
  while (!condition()) {
    if (options_.clock->Read().monotonic_ns >= end_ns_) {
      return absl::DeadlineExceededError("the machine is too busy for it to be tried");
    }
    pollfd stop = {.fd = options_.stop_fd, .events = POLLIN, .revents = 0};
    if (poll(&stop, 1, kLookMs) > 0) return absl::CancelledError("asked to end");
  }
  return absl::OkStatus();
}

// Of spinners that have begun. The lowered one is as it was afterwards.
absl::StatusOr<YieldProbe::Outcome> Measure(const Spinners& spinners, const Means& means,
                                            Processes& processes) {
  const int lowered = spinners.lowered(), other = spinners.other();
  const int64_t first_lowered = spinners.RanNs(lowered), first_other = spinners.RanNs(other);
  absl::Status status = spinners.WaitUntil([&] {
    return spinners.RanNs(lowered) - first_lowered >= YieldProbe::kWarmUpNs &&
           spinners.RanNs(other) - first_other >= YieldProbe::kWarmUpNs;
  });
  if (!status.ok()) return status;
  const absl::StatusOr<Before> before = processes.Read(lowered, means);
  if (!before.ok()) return before.status();
  status = Insist([&] { return processes.Lower(lowered, means); });
  if (!status.ok()) return status;
  YieldProbe::Outcome outcome;
  const absl::StatusOr<Before> meanwhile = processes.Read(lowered, means);
  outcome.sets_io_priority = meanwhile.ok() && scheduling::IsIdleIo(meanwhile->io_priority);
  const int64_t begin_lowered = spinners.RanNs(lowered), begin_other = spinners.RanNs(other);
  status = spinners.WaitUntil(
      [&] { return spinners.RanNs(other) - begin_other >= YieldProbe::kMeasureNs; });
  outcome.other_ns = spinners.RanNs(other) - begin_other;
  outcome.lowered_ns = spinners.RanNs(lowered) - begin_lowered;
  const absl::Status raised = Insist([&] { return processes.Raise(lowered, means, *before); });
  if (!raised.ok()) {
    return absl::Status(raised.code(), absl::StrCat("it can't be taken back: ", raised.message()));
  }
  if (!status.ok()) return status;
  return outcome;
}

std::string WithHint(const absl::Status& status) {
  constexpr int kSysNice = 23;  // CAP_SYS_NICE
  std::string said(status.message());
  if (!absl::IsPermissionDenied(status)) return said;
  const auto own = [](const char* file) {
    return scheduling::ReadSmallFile(absl::StrCat("/proc/self/", file)).value_or("");
  };
  if (IsMapOfUserNamespace(own("uid_map"))) {
    return absl::StrCat(said, " (CAP_SYS_NICE does not count in a user namespace)");
  }
  return absl::StrCat(said,
                      HasCapability(own("status"), kSysNice) ? "" : " (CAP_SYS_NICE is missing)");
}

bool IsAutogroupOn() {
  const auto text = scheduling::ReadSmallFile("/proc/sys/kernel/sched_autogroup_enabled");
  return text.has_value() && text->starts_with('1');
}

std::string WordsOf(const YieldProbe::Outcome& outcome, Means::Kind kind) {
  constexpr double kNsInMs = 1e6;
  std::string words =
      absl::StrFormat("while a backend ran for %.0f ms a lowered one ran for %.0f ms",
                      static_cast<double>(outcome.other_ns) / kNsInMs,
                      static_cast<double>(outcome.lowered_ns) / kNsInMs);
  if (!outcome.yields() && kind == Means::Kind::kIdleClass && IsAutogroupOn()) {
    absl::StrAppend(&words, "; each backend is an autogroup of its own");
  }
  if (!outcome.sets_io_priority) absl::StrAppend(&words, "; its I/O priority stays");
  return words;
}

}  // namespace

absl::StatusOr<YieldProbe::Outcome> YieldProbe::Try(const Means& means) {
  absl::StatusOr<Outcome> outcome = TryFor(means, absl::Milliseconds(500));
  if (absl::IsDeadlineExceeded(outcome.status())) outcome = TryFor(means, absl::Seconds(4));
  return outcome;
}

absl::StatusOr<YieldProbe::Outcome> YieldProbe::TryFor(const Means& means, absl::Duration time) {
  Database::Options options = options_;
  options.limit += time;  // the statement is waited for to its end
  Spinners spinners(options);
  if (absl::Status status = spinners.Open(); !status.ok()) return status;
  if (absl::Status status = spinners.Start(time); !status.ok()) return status;
  absl::StatusOr<Outcome> outcome = Measure(spinners, means, *options_.processes);
  if (absl::IsCancelled(outcome.status())) return outcome;
  const absl::Status finished = spinners.Finish();
  if (outcome.ok() && !finished.ok()) return finished;
  return outcome;
}

std::string YieldFindings::Words() const {
  return absl::StrCat(means.has_value() ? "yes, by " : "no, because ", MeansOrReasons());
}

std::string YieldFindings::MeansOrReasons() const {
  if (means.has_value()) return NameOf(means->kind);
  std::vector<std::string> reasons;
  for (const Finding& finding : findings) {
    reasons.push_back(absl::StrCat(NameOf(finding.kind), ": ", finding.said));
  }
  return absl::StrJoin(reasons, "; ");
}

absl::StatusOr<YieldFindings> FindMeans(const Database::Options& options, int postmaster,
                                        FindYield which) {
  YieldFindings found;
  for (const Means::Kind kind :
       {Means::Kind::kGroup, Means::Kind::kIdleClass, Means::Kind::kAutogroup}) {
    YieldFindings::Finding& finding = found.findings.emplace_back();
    finding.kind = kind;
    Means means{.kind = kind};
    std::unique_ptr<CpuGroup> group;
    if (kind == Means::Kind::kGroup) {
      absl::StatusOr<std::unique_ptr<CpuGroup>> made = CpuGroup::MakeBelow(postmaster);
      if (!made.ok()) {
        finding.said = std::string(made.status().message());
        continue;
      }
      group = *std::move(made);
      means.group = group->folder();
    } else if (kind == Means::Kind::kAutogroup && !IsAutogroupOn()) {
      finding.said = "autogroups are off";
      continue;
    }
    absl::StatusOr<YieldProbe::Outcome> outcome = YieldProbe(options).Try(means);
    // What is wrong with the connection, and not with the means.
    if (absl::IsUnavailable(outcome.status()) || absl::IsCancelled(outcome.status())) {
      return outcome.status();
    }
    found.is_undecided |= absl::IsDeadlineExceeded(outcome.status());
    finding.yields = outcome.ok() && outcome->yields();
    finding.said = outcome.ok() ? WordsOf(*outcome, kind) : WithHint(outcome.status());
    if (!finding.yields || found.means.has_value()) continue;
    found.means = means;
    found.group = std::move(group);
    found.share = outcome->share();
    if (which == FindYield::kFirst) break;
  }
  return found;
}

}  // namespace headgate::agent
