// Waiting in line, over a real server and sockets: whether the shares are fair, how soon who is
// next hears of it, and what it costs to let many wait.
//
// Jobs share one budget for some seconds; what the first burst lets through at once is not counted.
// Whoever waits gets a share by its weight and not by how often or for how much it asks. The
// instants at which 1,000 waiting Checks become due are known from the rate, so how late their
// answers are is measured against those. Memory and processor time are the server's own, as the
// kernel counts them; what gRPC takes for a call that waits is measured at a server that does
// nothing else, and taken off.
//
// The goals are in the table; the program fails where one is missed. They are about shares (Jain's
// index of eight workers beside one, and of small chunks beside large ones), weights, the lowest
// priority's floor, a poller's part of its share, how much of a budget was used, how late answers
// come, the bytes of a waiting Check, and what 100,000 of them cost while nothing happens. The last
// line has all figures. It goes before others on the machine where it may (CAP_SYS_NICE), and says
// so where it may not.
//
//   headgate-bench-line [--seconds=N] [--parked=N]

#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/bench/going_first.h"
#include "tests/bench/line/holding_server.h"
#include "tests/bench/line/shares.h"
#include "tests/bench/line/waiting_streams.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

constexpr double kRate = 10'000;  // of what jobs share, cost units a second
constexpr double kBurst = 500;
constexpr double kFloor = 0.05;

constexpr char kConfiguration[] = R"yaml(
server: {line: {max_waiting: 131072, max_waiting_share: 1, priority_floor: 0.05}}
budgets:
  - {name: shared, rate: 10000, burst: 500}
  - {name: slow, rate: 500, burst: 500}
  - {name: still, rate: 0.001, burst: 1}
rules:
  - {name: shared, match: {identity: share}, charge: [shared]}
  - {name: slow, match: {identity: slow}, charge: [slow]}
  - {name: debtor, match: {identity: debtor}, charge: [slow]}
  - {name: still, match: {identity: still}, charge: [still]}
  - {name: heavy, match: {identity: heavy:share}, weight: 3}
  - {name: urgent, match: {identity: urgent:share}, priority: 10}
)yaml";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "line: %s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

// A server of its own for each measurement: nothing is owed, nothing is remembered.
class Server {
 public:
  Server() : process_({.yaml = kConfiguration}) {
    const GoingFirst first(1);
    if (const absl::Status started = process_.Start(); !started.ok()) {
      Fail(std::string(started.message()));
    }
  }
  ~Server() { process_.Kill(); }

  int port() const { return process_.port(); }
  double RssBytes() const {
    const absl::StatusOr<ProcessUsage> usage = UsageOf(process_.pid());
    if (!usage.ok()) Fail("the server is gone");
    return usage->rss_mib * 1024 * 1024;
  }
  // Of its threads, user and system.
  double CpuSeconds() const {
    std::ifstream stat(absl::StrCat("/proc/", process_.pid(), "/stat"));
    std::string word;
    std::getline(stat, word, ')');
    constexpr int kFieldsBefore = 11;  // of user time, behind the name
    for (int i = 0; i < kFieldsBefore; ++i) stat >> word;
    double user = 0;
    double system = 0;
    stat >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  void AwaitWaiting(int64_t count) const {
    v1::StatusService::Stub stub(OwnChannel(port()));
    const bool all_wait = WaitUntil(
        [&] {
          v1::GetStatusResponse status;
          grpc::ClientContext context;
          if (!stub.GetStatus(&context, {}, &status).ok()) Fail("no status");
          return status.waiting().waiting() == count;
        },
        absl::Seconds(120));
    if (!all_wait) Fail(absl::StrCat("not all of ", count, " Checks come to wait"));
  }

 private:
  HeadgatedProcess process_;
};

struct Options {
  absl::Duration time = absl::Seconds(10);
  int parked = 100'000;
};

struct Results {
  double jain_workers = 0, jain_chunks = 0, weight_error = 0, floor_share = 0, poller_share = 0;
  double used = std::numeric_limits<double>::infinity(), most_used = 0;
  double grant_p99_ms = 0;
  double bytes_per_parked = 0, bytes_per_call = 0, grpc_per_call = 0, idle_cpu_percent = 0;
};

class Measurement {
 public:
  explicit Measurement(const Options& options) : options_(options) {}

  Results Run() {
    MeasureShares();
    MeasureGrants();
    MeasureParked();
    MeasureCalls();
    return results_;
  }

 private:
  static constexpr int kGranted = 1000;
  static constexpr int kStreams = 100;
  static constexpr int kCalls = 10'000;

  Sharing Of(const std::vector<SharingJob>& jobs) {
    const Server server;
    Sharing sharing = Share(server.port(), jobs, options_.time);
    const double due = kBurst + kRate * sharing.seconds;
    results_.used = std::min(results_.used, sharing.all / due);
    results_.most_used = std::max(results_.most_used, sharing.all / due);
    return sharing;
  }

  void MeasureShares() {
    results_.jain_workers =
        JainIndex(Of({{.identity = "a:share", .workers = 8}, {.identity = "b:share"}}).cost);
    results_.jain_chunks = JainIndex(Of({{.identity = "a:share", .workers = 4, .chunk = 10},
                                         {.identity = "b:share", .workers = 4, .chunk = 200}})
                                         .cost);
    constexpr double kHeavyShare = 0.75;
    results_.weight_error = std::abs(
        Of({{.identity = "heavy:share", .workers = 4}, {.identity = "b:share", .workers = 4}})
                .ShareOf(0) /
            kHeavyShare -
        1);
    results_.floor_share =
        Of({{.identity = "urgent:share", .workers = 4}, {.identity = "b:share", .workers = 4}})
            .ShareOf(1);
    std::vector<SharingJob> jobs = {{.identity = "poller:share", .polls = true}};
    for (int i = 0; i < 9; ++i) jobs.push_back({.identity = absl::StrCat("j", i, ":share")});
    results_.poller_share = Of(jobs).ShareOf(0) * static_cast<double>(jobs.size());
  }

  // Somebody's Report has put the budget into debt, so that all come to wait before there is room;
  // from then on each is due a period after the one before. Room that is handed out late is not
  // lost. What is taken for the instant of the debt is a little before it.
  void MeasureGrants() {
    constexpr double kPeriodNs = 1e9 / 500;
    constexpr double kUntilFirstNs = 501 * kPeriodNs;
    const Server server;
    const GoingFirst first(2);
    WaitingStreams streams(server.port(), {.streams = 10, .messages = 100, .identity = "slow"});
    const int64_t owed_at_ns = Owe(server.port(), 500, 1000);
    streams.Send();
    server.AwaitWaiting(kGranted);
    std::vector<double> late_ms;
    for (const int64_t came_ns : streams.Receive(kGranted)) {
      const double due_ns = kUntilFirstNs + kPeriodNs * static_cast<double>(late_ms.size());
      late_ms.push_back((static_cast<double>(came_ns - owed_at_ns) - due_ns) / 1e6);
    }
    std::sort(late_ms.begin(), late_ms.end());
    if (late_ms.front() < 0) Fail("an answer came before there was room");
    results_.grant_p99_ms = late_ms[late_ms.size() * 99 / 100];
  }
  // A debtor takes all of the budget and then reports more; when it took it, or a little before.
  static int64_t Owe(int port, double taken, double reported) {
    v1::ThrottlerService::Stub stub(OwnChannel(port));
    v1::CheckRequest check;
    check.set_identity("debtor");
    const auto ask = [&] {
      v1::CheckResponse response;
      grpc::ClientContext context;
      if (!stub.Check(&context, check, &response).ok()) Fail("no Check");
      return response.decision();
    };
    check.set_validate_only(true);
    ask();  // connects
    check.set_validate_only(false);
    check.set_estimated_cost(taken);
    const int64_t before_ns = MonotonicNs();
    const v1::Decision decision = ask();
    v1::ReportRequest report;
    report.add_reports()->set_permit_id(decision.permit_id());
    report.mutable_reports(0)->set_actual_cost(reported);
    v1::ReportResponse reported_as;
    grpc::ClientContext context;
    if (!stub.Report(&context, report, &reported_as).ok()) Fail("no Report");
    return before_ns;
  }

  void MeasureParked() {
    const Server server;
    WaitingStreams streams(
        server.port(),
        {.streams = kStreams, .messages = options_.parked / kStreams, .identity = "still"});
    const double before = server.RssBytes();
    streams.Send();
    server.AwaitWaiting(options_.parked - 1);  // one was admitted
    results_.bytes_per_parked = (server.RssBytes() - before) / options_.parked;
    constexpr int kIdleMs = 5000;
    const double cpu = server.CpuSeconds();
    WaitUntil([] { return false; }, absl::Milliseconds(kIdleMs));
    results_.idle_cpu_percent = (server.CpuSeconds() - cpu) * 1000 / kIdleMs * 100;
  }

  void MeasureCalls() {
    const Server server;
    const double before = server.RssBytes();
    const WaitingCalls calls(server.port(), kCalls, "still");
    server.AwaitWaiting(kCalls - 1);
    results_.bytes_per_call = (server.RssBytes() - before) / kCalls;
    HoldingServer holding;
    const double without = holding.RssBytesWith(0);
    const WaitingCalls held(holding.port(), kCalls, "still");
    results_.grpc_per_call = (holding.RssBytesWith(kCalls) - without) / kCalls;
  }

  const Options options_;
  Results results_;
};

// Whether all goals are met; prints each.
class Table {
 public:
  void AtLeast(const char* what, double value, double goal) {
    Row(what, value, ">=", goal, value >= goal);
  }
  void AtMost(const char* what, double value, double goal) {
    Row(what, value, "<=", goal, value <= goal);
  }
  bool missed() const { return missed_; }

 private:
  void Row(const char* what, double value, const char* relation, double goal, bool met) {
    std::printf("%-58s %10.4g %s %-8g%s\n", what, value, relation, goal, met ? "" : "  MISSED");
    missed_ = missed_ || !met;
  }

  bool missed_ = false;
};

int Run(const Options& options) {
  if (!GoingFirst(1).allowed()) std::puts("may not go first: latencies are not the server's alone");
  const Results got = Measurement(options).Run();
  Table table;
  table.AtLeast("Jain's index of 8 workers beside 1", got.jain_workers, 0.99);
  table.AtLeast("Jain's index of chunks of 10 beside 200", got.jain_chunks, 0.98);
  table.AtMost("weights 3 to 1, error of the share", got.weight_error, 0.05);
  table.AtMost("lowest priority, distance from its floor of 0.05",
               std::abs(got.floor_share - kFloor), 0.01);
  table.AtLeast("a poller beside nine that wait, of its fair share", got.poller_share, 0.5);
  table.AtLeast("budget used, of what is due, the least", got.used, 0.99);
  table.AtMost("budget used, the most", got.most_used, 1);
  table.AtMost("from room to the answer, 1,000 waiting, p99, ms", got.grant_p99_ms, 5);
  table.AtMost("bytes of a Check that waits on a stream", got.bytes_per_parked, 1000);
  table.AtMost("bytes of a unary call that waits, beyond gRPC's own",
               got.bytes_per_call - got.grpc_per_call, 8000);
  table.AtMost("idle CPU with all of them waiting, percent", got.idle_cpu_percent, 2);
  std::printf(
      "\nline: jain_workers=%.4f jain_chunks=%.4f weight_error=%.4f floor_share=%.4f "
      "poller_share=%.3f used=%.4f grant_p99_ms=%.2f parked=%d bytes_per_parked=%.0f "
      "bytes_per_call=%.0f grpc_per_call=%.0f idle_cpu_percent=%.2f\n",
      got.jain_workers, got.jain_chunks, got.weight_error, got.floor_share, got.poller_share,
      got.used, got.grant_p99_ms, options.parked, got.bytes_per_parked, got.bytes_per_call,
      got.grpc_per_call, got.idle_cpu_percent);
  return table.missed() ? EXIT_FAILURE : EXIT_SUCCESS;
}

// False: there is no such argument.
bool Take(std::string_view argument, Options& options) {
  int number = 0;
  const auto number_of = [&](std::string_view name) {
    return argument.starts_with(name) &&
           absl::SimpleAtoi(std::string(argument.substr(name.size())), &number) && number >= 1;
  };
  if (number_of("--seconds=")) {
    options.time = absl::Seconds(number);
  } else if (number_of("--parked=") && number % 100 == 0) {
    options.parked = number;
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == headgate::bench::kHoldCalls) return headgate::bench::HoldCalls();
  headgate::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    if (!headgate::bench::Take(argv[i], options)) {
      std::fprintf(stderr, "usage: headgate-bench-line [--seconds=N] [--parked=N]\n");
      return 2;
    }
  }
  return headgate::bench::Run(options);
}
