#include "client/agent/agent.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/agent/change_text.h"
#include "client/agent/cpu_limit.h"
#include "client/agent/journal.h"
#include "client/agent/linux_processes.h"
#include "client/agent/metrics.h"
#include "client/agent/reporting.h"
#include "client/agent/restore.h"
#include "client/agent/session_ranks.h"
#include "client/agent/watchdog.h"
#include "client/agent/work_times.h"
#include "client/agent/yield_probe.h"
#include "client/agent/yielder.h"

namespace headgate::agent {
namespace {

constexpr absl::Duration kLookEach = absl::Milliseconds(100);
constexpr absl::Duration kLookEachAtRest = absl::Milliseconds(250);
constexpr absl::Duration kConnectAgain = absl::Seconds(1);
constexpr absl::Duration kProbeAgain = absl::Minutes(10);
constexpr absl::Duration kProbeAgainSoon = absl::Seconds(10);  // where the machine was too busy
// Longer than a watchdog restores where nothing hinders it.
constexpr absl::Duration kLockLimit = absl::Seconds(3);
constexpr int64_t kMetricsEachNs = 1'000'000'000;
constexpr int64_t kFloorAgainNs = 60'000'000'000;

std::string TextOf(const BatchWork& batch) {
  std::vector<std::string> names;
  for (const std::string& role : batch.roles) names.push_back(absl::StrCat("role=", role));
  for (const std::string& name : batch.application_names) {
    names.push_back(absl::StrCat("application_name=", name));
  }
  if (names.empty()) return "headgated has no batch_work for the target: no session yields";
  return absl::StrCat("batch work, as headgated has it: ", absl::StrJoin(names, ","));
}

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options), batch_(options.batch), reporting_(options.headgated) {}

  absl::Status Run();
  absl::StatusOr<bool> Check();
  absl::Status RestoreNow();

 private:
  Database::Options DatabaseOptions() {
    return {.dsn = options_.dsn,
            .clock = options_.clock,
            .processes = &processes_,
            .stop_fd = options_.stop_fd};
  }
  void Log(const std::string& line) const { options_.log(line); }
  int64_t NowNs() const { return options_.clock->Read().monotonic_ns; }
  bool IsAskedToEnd() { return Pause(absl::ZeroDuration()); }
  // Whether it is asked to end meanwhile.
  bool Pause(absl::Duration time) const;
  absl::Status OpenJournal();
  absl::Status RestoreLeft();
  void KeepWatchdog();

  // What a connection is for, until it is lost or the agent is asked to end.
  absl::Status Watch(Database& database);
  absl::Status WaitToProbeAgain(Database& database, absl::Duration time);
  // Whether some session's rank has changed.
  absl::StatusOr<bool> Look(Database& database, SessionRanks& ranks);
  void Tell(const std::vector<Yielder::Change>& changes);
  // Once, until the floor was not needed for a while.
  void TellFloor();
  void LookWhetherStandby(const Database& database);
  // What the proof does not see.
  void TellRange(int postmaster) const;
  void TellFigures(Yielder* yielder);
  // Says it once, until it has changed.
  void TellTrouble(const std::string& what);
  // What headgated has to say.
  void HearHeadgated();
  void NoteWork(const std::vector<BatchSession>& sessions, const Yielder& yielder);
  Counted counted() const {
    return {.raises = figures_.raised_for_waiters + figures_.raised_for_starving,
            .work = work_times_.all(),
            .recent_work = work_times_.recent()};
  }

  const AgentOptions& options_;
  BatchWork batch_;
  bool is_told_batch_ = false;  // by headgated
  Reporting reporting_;
  LinuxProcesses processes_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Watchdog> watchdog_;
  Figures figures_;
  WorkTimes work_times_;
  std::string trouble_;
  int64_t metrics_at_ns_ = 0;
  int64_t relieved_at_ns_ = 0;  // 0: never
  bool metrics_fail_ = false;
};

bool Agent::Pause(absl::Duration time) const {
  pollfd stop = {.fd = options_.stop_fd, .events = POLLIN, .revents = 0};
  const int limit_ms = static_cast<int>(absl::ToInt64Milliseconds(time));
  int ready = 0;
  do {
    ready = poll(&stop, 1, limit_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

absl::Status Agent::OpenJournal() {
  absl::StatusOr<std::unique_ptr<Journal>> journal =
      Journal::Open(options_.state_folder, kLockLimit);
  if (!journal.ok()) return journal.status();
  journal_ = *std::move(journal);
  return absl::OkStatus();
}

absl::Status Agent::RestoreLeft() {
  if (journal_->Records().empty()) return absl::OkStatus();
  Restored all;
  // As long as it takes where the kernel takes one change in 0.1 s.
  constexpr int kTries = 600;
  for (int i = 0; i < kTries; ++i) {
    const Restored some = Restore(*journal_, processes_);
    all.raised += some.raised;
    all.gone += some.gone;
    all.left = some.left;
    if (!absl::IsUnavailable(some.left) || Pause(kLookEach)) break;
  }
  Log(absl::StrCat("an earlier agent had left sessions that yield: ", all.raised,
                   " are as they were, ", all.gone, " have ended",
                   all.left.ok() ? "" : absl::StrCat("; not all: ", all.left.message())));
  return all.left;
}

void Agent::KeepWatchdog() {
  if (watchdog_ != nullptr && watchdog_->IsAlive()) return;
  const bool is_another = watchdog_ != nullptr;
  absl::StatusOr<std::unique_ptr<Watchdog>> started =
      Watchdog::Start(*journal_, [this](const std::string& line) { Log(line); });
  if (started.ok()) {
    watchdog_ = *std::move(started);
    if (is_another) Log("the watchdog had ended; there is another one");
  } else {
    TellTrouble(absl::StrCat("there is no watchdog: ", started.status().message()));
  }
}

absl::Status Agent::Run() {
  if (absl::Status status = OpenJournal(); !status.ok()) return status;
  RestoreLeft().IgnoreError();  // it has said so, and what is left stays written down
  KeepWatchdog();
  while (!IsAskedToEnd()) {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(DatabaseOptions());
    const absl::Status status = database.ok() ? Watch(**database) : database.status();
    if (absl::IsCancelled(status)) break;
    if (status.ok()) continue;  // yielding is tried again
    const std::string trouble = absl::StrCat("PostgreSQL can't be watched: ", status.message());
    TellTrouble(trouble);
    reporting_.TellTrouble(trouble, counted());
    HearHeadgated();
    TellFigures(nullptr);
    KeepWatchdog();
    if (Pause(kConnectAgain)) break;
  }
  if (!options_.metrics_file.empty()) unlink(options_.metrics_file.c_str());
  watchdog_.reset();
  if (!journal_->Records().empty()) {
    return absl::InternalError(
        absl::StrCat(journal_->Records().size(),
                     " sessions are not as they were; the watchdog goes on with them"));
  }
  Log("the agent ends; all sessions are as they were");
  return absl::OkStatus();
}

absl::Status Agent::Watch(Database& database) {
  const Database::Server& server = database.server();
  LookWhetherStandby(database);
  const absl::StatusOr<YieldFindings> found =
      FindMeans(DatabaseOptions(), server.postmaster, FindYield::kFirst);
  if (!found.ok()) return found.status();
  figures_.yields = found->means.has_value();
  figures_.probe_share = found->share;
  if (!found->means.has_value()) {
    TellTrouble(absl::StrCat("yields: ", found->Words(), "; no session is touched"));
    reporting_.TellTrouble(found->MeansOrReasons(), counted());
    TellFigures(nullptr);
    return WaitToProbeAgain(database, found->is_undecided ? kProbeAgainSoon : kProbeAgain);
  }
  Log(absl::StrCat("PostgreSQL ", server.version, ", process ", server.postmaster,
                   ", is watched as role ", server.role, "; yields: ", found->Words()));
  TellRange(server.postmaster);
  trouble_.clear();
  const double processors = options_.floor * ProcessorsOf(server.postmaster);
  SessionRanks ranks(
      processes_, *journal_,
      {.means = *found->means, .processors = processors, .postmaster = server.postmaster});
  Yielder& yielder = ranks.yielder();
  if (processors > 0) {
    Log(absl::StrFormat("batch work has %.2f processors at least", processors));
  }
  absl::Status status;
  while (status.ok()) {
    HearHeadgated();
    const absl::StatusOr<bool> changed = Look(database, ranks);
    status = changed.status();
    LookWhetherStandby(database);
    if (status.ok()) {
      status = reporting_.Watch(database, yielder,
                                {.changed = *changed,
                                 .means = found->MeansOrReasons(),
                                 .counted = counted(),
                                 .now_ns = NowNs()});
    }
    if (!status.ok()) break;
    KeepWatchdog();
    TellFigures(&yielder);
    const bool at_rest = yielder.yielding() + yielder.raised() == 0;
    if (Pause(at_rest ? kLookEachAtRest : kLookEach)) status = absl::CancelledError("asked to end");
  }
  Tell(yielder.RestoreAll());
  reporting_.CountProcessorTime(yielder);  // the last of it
  return status;
}

absl::Status Agent::WaitToProbeAgain(Database& database, absl::Duration time) {
  for (absl::Duration left = time; left > absl::ZeroDuration(); left -= kConnectAgain) {
    if (Pause(kConnectAgain)) return absl::CancelledError("asked to end");
    HearHeadgated();
    // After a restart PostgreSQL may be elsewhere.
    if (absl::Status status = database.Look(batch_).status(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Agent::Look(Database& database, SessionRanks& ranks) {
  absl::StatusOr<Database::Sight> sight = database.Look(batch_);
  if (!sight.ok()) return sight.status();
  ++figures_.looks;
  std::vector<LockWait> waits;
  if (sight->waiting > 0) {
    absl::StatusOr<std::vector<LockWait>> asked = database.LockWaits();
    if (!asked.ok()) return asked.status();
    waits = *std::move(asked);
  }
  const std::vector<Yielder::Change> changes =
      ranks.Look({.sessions = sight->sessions, .waits = std::move(waits)}, NowNs());
  Tell(changes);
  NoteWork(sight->sessions, ranks.yielder());
  return !changes.empty();
}

void Agent::NoteWork(const std::vector<BatchSession>& sessions, const Yielder& yielder) {
  std::vector<Work> at_work;
  for (const BatchSession& session : sessions) {
    if (yielder.Yields(session.pid)) at_work.push_back(session.work);
  }
  work_times_.Note(at_work, NowNs());
}

void Agent::Tell(const std::vector<Yielder::Change>& changes) {
  for (const Yielder::Change& change : changes) {
    if (change.kind == Yielder::Change::Kind::kFailed) ++figures_.failures;
    if (change.kind != Yielder::Change::Kind::kRaised) continue;
    switch (change.assignment.rank) {
      case Rank::kRaisedForWaiter:
        ++figures_.raised_for_waiters;
        break;
      case Rank::kRaisedForStarving:
        ++figures_.raised_for_starving;
        break;
      case Rank::kRaisedForFloor:
        ++figures_.raised_for_floor;
        TellFloor();
        break;
      case Rank::kYields:
        break;
    }
  }
  for (const std::string& line : TextOf(changes)) Log(line);
}

void Agent::TellFloor() {
  const int64_t now_ns = NowNs();
  const int64_t before_ns = std::exchange(relieved_at_ns_, now_ns);
  if (before_ns != 0 && now_ns - before_ns < kFloorAgainNs) return;
  Log("batch work gets less of the processors than its floor: sessions are raised for moments");
}

void Agent::TellFigures(Yielder* yielder) {
  figures_.is_connected = yielder != nullptr;
  figures_.yielding = yielder == nullptr ? 0 : yielder->yielding();
  figures_.raised = yielder == nullptr ? 0 : yielder->raised();
  const int64_t now_ns = NowNs();
  if (options_.metrics_file.empty() ||
      (yielder != nullptr && now_ns - metrics_at_ns_ < kMetricsEachNs)) {
    return;
  }
  metrics_at_ns_ = now_ns;
  if (yielder != nullptr) figures_.processor_seconds = reporting_.CountProcessorTime(*yielder);
  const absl::Status status = WriteMetrics(options_.metrics_file, figures_);
  if (!status.ok() && !metrics_fail_) Log(std::string(status.message()));
  metrics_fail_ = !status.ok();
}

void Agent::TellTrouble(const std::string& what) {
  if (what == trouble_) return;
  trouble_ = what;
  Log(what);
}

void Agent::HearHeadgated() {
  if (options_.headgated == nullptr) return;
  for (const std::string& line : options_.headgated->TakeLines()) Log(line);
  if (!options_.batch.roles.empty() || !options_.batch.application_names.empty()) return;
  const std::optional<BatchWork> told = options_.headgated->batch_work();
  // What it said last holds on where it says nothing any more.
  if (!told.has_value() || (is_told_batch_ && *told == batch_)) return;
  is_told_batch_ = true;
  batch_ = *told;
  Log(TextOf(batch_));
}

void Agent::LookWhetherStandby(const Database& database) {
  if (!reporting_.SetStandby(database.is_standby())) return;
  Log(database.is_standby()
          ? "PostgreSQL is a standby: headgated is told by the agent of the primary"
          : "PostgreSQL is a primary: headgated is told");
}

void Agent::TellRange(int postmaster) const {
  const Range range = RangeOf(postmaster);
  if (!range.within.empty()) Log(absl::StrCat("the rank counts ", range.within));
  if (!range.limit.empty()) Log(range.limit);
}

absl::Status Agent::RestoreNow() {
  absl::Status status = OpenJournal();
  return status.ok() ? RestoreLeft() : status;
}

absl::StatusOr<bool> Agent::Check() {
  absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(DatabaseOptions());
  if (!database.ok()) return database.status();
  const Database::Server& server = (*database)->server();
  Log(absl::StrCat("PostgreSQL ", server.version, ", process ", server.postmaster, ", as role ",
                   server.role));
  const absl::StatusOr<Database::Sight> sight = (*database)->Look(options_.batch);
  if (!sight.ok()) return sight.status();
  Log(absl::StrCat("sessions of batch work: ", sight->sessions.size()));
  const absl::StatusOr<YieldFindings> found =
      FindMeans(DatabaseOptions(), server.postmaster, FindYield::kAll);
  if (!found.ok()) return found.status();
  for (const YieldFindings::Finding& finding : found->findings) {
    Log(absl::StrCat(NameOf(finding.kind), ": ",
                     finding.yields ? "yields: " : "does not: ", finding.said));
  }
  Log(absl::StrCat("yields: ",
                   found->means.has_value() ? found->Words() : "no, for these reasons"));
  if (found->means.has_value()) TellRange(server.postmaster);
  return found->means.has_value();
}

}  // namespace

absl::Status RunAgent(const AgentOptions& options) { return Agent(options).Run(); }

absl::StatusOr<bool> CheckAgent(const AgentOptions& options) { return Agent(options).Check(); }

absl::Status RestoreLeft(const AgentOptions& options) { return Agent(options).RestoreNow(); }

}  // namespace headgate::agent
