#include "tests/soak/soak.h"

#include <headgate/v1/status_service.grpc.pb.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/soak/faults.h"
#include "tests/soak/flatness.h"
#include "tests/soak/soak_server.h"
#include "tests/soak/soak_state.h"
#include "tests/soak/traffic.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/wait_until.h"

namespace headgate::soak {
namespace {

// Why so much: memory. The floor counts, since the heap is a sawtooth: what a full disk makes the
// log hold back, or a reload needs twice, is given back, but not at once and not to the page. In
// two minutes that moved the floor by up to 6 MiB either way (see soak.h). A leak of 200
// bytes in each of some thousand calls a second is as much between the windows of two minutes, and
// one of ten bytes in half an hour.
constexpr FlatnessOptions kMemory = {
    .cycle = kCycleSeconds, .share = 0.03, .absolute = 6, .quantile = 0.25};
// Files: how many connections are open at one instant is chance.
constexpr FlatnessOptions kFiles = {.cycle = kCycleSeconds, .share = 0.05, .absolute = 3};
// Threads: gRPC adds and ends pollers of its own as it needs them.
constexpr FlatnessOptions kThreads = {.cycle = kCycleSeconds, .share = 0, .absolute = 3};
// Descriptors that an idle server may have more than before: a database connection, and SQLite's.
constexpr int64_t kMoreFiles = 4;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kJudgesMemory = false;
#else
constexpr bool kJudgesMemory = true;
#endif

// One series for each resource, a sample a second.
struct Series {
  std::vector<double> rss_mib, files, threads;

  // For whoever wants to see how it grew.
  void Write(const std::string& path) const {
    std::ofstream file(path);
    file << "second,rss_mib,files,threads\n";
    for (size_t i = 0; i < files.size(); ++i) {
      file << i + 1 << ',' << rss_mib[i] << ',' << files[i] << ',' << threads[i] << '\n';
    }
  }
  void Add(const ProcessUsage& usage) {
    rss_mib.push_back(usage.rss_mib);
    files.push_back(static_cast<double>(usage.files));
    threads.push_back(static_cast<double>(usage.threads));
  }
};

// Samples until the state stops, or the process is gone.
Series Sample(pid_t pid, const SoakState& state, int64_t begins_ns) {
  Series series;
  for (int64_t second = 1; !state.stopping(); ++second) {
    const int64_t left_ns = begins_ns + second * 1'000'000'000 - MonotonicNs();
    if (left_ns > 0) state.Rest(static_cast<int>(left_ns / 1'000'000));
    const absl::StatusOr<ProcessUsage> usage = UsageOf(pid);
    if (!usage.ok()) break;
    series.Add(*usage);
  }
  return series;
}

class Judge {
 public:
  explicit Judge(Verdict& verdict) : verdict_(verdict) {
    Line("%-18s %10s %10s %10s", "resource", "warmed up", "end", "at most");
  }

  void Flat(const char* what, const std::vector<double>& samples, const FlatnessOptions& options) {
    const absl::StatusOr<Judgement> judged = JudgeFlat(samples, options);
    if (!judged.ok()) return Fault(absl::StrCat(what, ": ", judged.status().message()));
    Line("%-18s %10.1f %10.1f %10.1f", what, judged->baseline, judged->end, judged->most);
    if (judged->flat) return;
    Fault(absl::StrFormat("%s grew from %.1f to %.1f; at most %.1f", what, judged->baseline,
                          judged->end, judged->most));
  }

  void Calls(const soak::Calls& calls) {
    Line("");
    Line("%-18s %10s %10s", "call", "ok", "refused");
    for (const auto& [call, counts] : calls.counts()) {
      Line("%-18s %10d %10d", call, counts.ok, counts.refused);
    }
    for (const std::string& surprise : calls.surprises()) Fault(surprise);
    const int64_t more = calls.surprise_count() - static_cast<int64_t>(calls.surprises().size());
    if (more > 0) Fault(absl::StrCat("and ", more, " more surprises"));
  }

  void Holds(bool holds, const std::string& what) {
    if (!holds) Fault(what);
  }
  void Ok(const absl::Status& status) {
    if (!status.ok()) Fault(std::string(status.message()));
  }
  void Fault(const std::string& what) { verdict_.faults.push_back(what); }

  template <typename... Arguments>
  void Line(const absl::FormatSpec<Arguments...>& format, const Arguments&... arguments) {
    verdict_.lines.push_back(absl::StrFormat(format, arguments...));
  }

 private:
  Verdict& verdict_;
};

v1::GetStatusResponse StatusOf(const SoakState& state) {
  const auto stub = v1::StatusService::NewStub(state.Connect());
  Context context;
  v1::GetStatusResponse response;
  stub->GetStatus(&context, {}, &response);  // an empty one fails what is asked of it
  return response;
}

bool IsHealthy(const v1::GetStatusResponse& status) {
  bool healthy = false;
  for (const v1::TargetStatus& target : status.targets()) {
    for (const v1::Health& health : target.profiles()) {
      healthy |= target.name() == "shop" && health.state() == v1::HEALTH_STATE_HEALTHY;
    }
  }
  return healthy;
}

// Whatever was done to it, a server that is left alone is as it was.
void JudgeRecovery(SoakServer& server, const SoakState& state, const ProcessUsage& before,
                   int cycles, Judge& judge) {
  const bool closed = WaitUntil([&] {
    const absl::StatusOr<ProcessUsage> now = UsageOf(server.pid());
    return now.ok() && now->files <= before.files + kMoreFiles;
  });
  const auto now = UsageOf(server.pid());
  judge.Holds(closed, absl::StrCat("files: ", before.files, " before, ", now.ok() ? now->files : -1,
                                   " without any caller"));
  judge.Holds(WaitUntil([&] { return StatusOf(state).permits_outstanding() == 0; }),
              "permits outlive their time");
  judge.Holds(server.postgres() == nullptr || WaitUntil([&] { return IsHealthy(StatusOf(state)); }),
              "the database is back, and its health is not");
  judge.Holds(WaitUntil([&] { return StatusOf(state).throttle_log().error().empty(); }),
              "the disk has room, and the log is not written");
  const v1::GetStatusResponse status = StatusOf(state);
  judge.Holds(status.config().version() >= cycles && status.config().has_refused_at(),
              absl::StrCat("configurations: version ", status.config().version(), " after ", cycles,
                           " good ones and as many bad ones"));
  judge.Line("");
  judge.Line("log: %d rows written, %d Checks dropped on a full disk, %d folded",
             status.throttle_log().rows_written(), status.throttle_log().dropped_checks(),
             status.throttle_log().folded_checks());
}

// A soak that did nothing proves nothing.
void JudgeLoad(const SoakState& state, Judge& judge) {
  std::map<std::string, CallCounts> counts = state.calls.counts();
  for (const char* call : {"check", "retry", "batch", "report", "stream", "status", "explain",
                           "log sums", "log intervals", "override made", "new connection"}) {
    judge.Holds(counts[call].ok > 0, absl::StrCat(call, ": never answered"));
  }
  for (const char* call : {"bad request", "vanished caller", "cancelled stream", "health watch"}) {
    judge.Holds(counts[call].ok + counts[call].refused > 0, absl::StrCat(call, ": never made"));
  }
  judge.Holds(state.allowed > 0 && state.denied > 0 && state.unreported > 0,
              "not every kind of answer was given");
}

std::string Summary(const SoakOptions& options, const SoakState& state, const Verdict& verdict) {
  const std::string did =
      absl::StrFormat("soak: %.3g minutes, %d Checks allowed and %d denied", options.minutes,
                      state.allowed.load(), state.denied.load());
  if (!verdict.faults.empty()) return absl::StrCat(did, ": ", verdict.faults.front());
  if (options.minutes < kLeastMinutesForGrowth) return absl::StrCat(did, ", no fault");
  return absl::StrCat(
      did, kJudgesMemory ? ", memory, files and threads flat" : ", files and threads flat");
}

}  // namespace

absl::StatusOr<Verdict> Soak(const SoakOptions& options) {
  absl::StatusOr<std::unique_ptr<SoakServer>> server = SoakServer::Start(options.folder);
  if (!server.ok()) return server.status();
  const absl::StatusOr<ProcessUsage> before = UsageOf((*server)->pid());
  if (!before.ok()) return before.status();
  SoakState state((*server)->address(), kRows);
  const int64_t begins_ns = MonotonicNs();
  const int cycles = static_cast<int>(std::ceil(options.minutes * 60 / kCycleSeconds));

  Series series;
  std::thread sampler([&] { series = Sample((*server)->pid(), state, begins_ns); });
  Traffic traffic(state);
  Faults faults(**server);
  absl::Status status;
  for (int cycle = 0; cycle < cycles && status.ok(); ++cycle) {
    status = faults.RunCycle(cycle, begins_ns + int64_t{cycle} * kCycleSeconds * 1'000'000'000);
    if (status.ok()) status = state.rows.Verify(MonotonicNs());
  }
  traffic.Stop();
  sampler.join();
  series.Write(options.folder + "/samples.csv");
  if (!status.ok()) return status;

  Verdict verdict;
  Judge judge(verdict);
  if (options.minutes >= kLeastMinutesForGrowth) {
    if (kJudgesMemory) judge.Flat("memory MiB", series.rss_mib, kMemory);
    judge.Flat("files", series.files, kFiles);
    judge.Flat("threads", series.threads, kThreads);
  } else {
    judge.Line("whether it grows is not judged in less than %g minutes", kLeastMinutesForGrowth);
  }
  judge.Calls(state.calls);
  judge.Ok(state.rows.Verify(MonotonicNs()));
  JudgeLoad(state, judge);
  JudgeRecovery(**server, state, *before, cycles, judge);
  judge.Ok((*server)->Stop());
  if (!kJudgesMemory) judge.Line("memory is not judged: AddressSanitizer keeps what is freed");
  for (const std::string& missing : (*server)->missing()) judge.Line("%s", missing);
  verdict.summary = Summary(options, state, verdict);
  return verdict;
}

}  // namespace headgate::soak
