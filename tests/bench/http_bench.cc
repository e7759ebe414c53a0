// What a Check costs the server over HTTP, against one over gRPC; and what a thousand clients cost
// that ask as gh-ost and freno's clients do.
//
// One server in this process has both ports, and takes the same Checks on both: an identity of four
// levels, four budgets, 10,000 rules (rpc_bench.cc). Callers are two other processes. Over gRPC 64
// RPCs are outstanding on 4 connections; HTTP/1.1 has one on each, so there are 64 connections.
// What is measured is the CPU time of this process, user and system; slices of both take turns, and
// the ratio is the median of the ratios of neighbours.
//
// Then 1,000 connections ask ten times a second each, for some seconds: how long an answer takes,
// CPU for each, and by how much the process has grown for a connection that is kept open. The
// server goes before the callers, where it may (going_first.h): they share its processors here and
// nowhere else.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/serve/gateway/gateway.h"
#include "server/serve/http/http_server.h"
#include "server/serve/rpc/rpc_server.h"
#include "tests/bench/charged_checks.h"
#include "tests/bench/going_first.h"
#include "tests/bench/http_load.h"
#include "tests/bench/other_process.h"
#include "tests/bench/rpc_load.h"
#include "tests/testing/median.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::bench {
namespace {

constexpr int kChecks = 3'000;
constexpr int kClients = 1'000;
constexpr double kMaxRatio = 1.2;
constexpr double kMaxHeadMs = 1;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

double Ask(OtherProcess& callers, const std::string& what) {
  double p99_us = 0;
  if (!absl::SimpleAtod(callers.Do(what), &p99_us)) Fail("no latency");
  return p99_us;
}

// Microseconds of CPU for each.
double Measure(OtherProcess& callers, const std::string& what, int count) {
  const double before = CpuSeconds();
  Ask(callers, what);
  const double us = (CpuSeconds() - before) * 1e6 / count;
  Ask(callers, "settle");
  return us;
}

int64_t ResidentBytes() {
  int64_t all_pages = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

void RaiseFileLimit() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int Run(double seconds) {
  RaiseFileLimit();
  SystemClock clock;
  engine::Engine engine({.seed = 0x1234567890abcdef});
  if (absl::Status ready = Prepare(engine, clock); !ready.ok()) Fail(std::string(ready.message()));
  MonitoredTarget activity;
  throttle_log::Recorder recorder({.seed = 0x1234567890abcdef});
  rpc::QuietDependencies quiet(engine, clock);
  auto first = std::make_optional<GoingFirst>(1);
  if (!first->allowed()) std::puts("may not go first: the latency is not the server's alone");
  auto server = rpc::RpcServer::Start({.address = "127.0.0.1:0"}, {.engine = engine,
                                                                   .clock = clock,
                                                                   .status = quiet.status,
                                                                   .activity = activity,
                                                                   .recorder = recorder,
                                                                   .access = quiet.access,
                                                                   .lines = quiet.lines,
                                                                   .calls = quiet.calls});
  if (!server.ok()) Fail(std::string(server.status().message()));
  gateway::Gateway gateway((*server)->api());
  auto http = http::HttpServer::Start({.address = "127.0.0.1:0"}, clock, gateway);
  if (!http.ok()) Fail(std::string(http.status().message()));
  first.reset();
  OtherProcess rpc_callers(absl::StrCat("--rpc-callers-of=", (*server)->port()));
  OtherProcess http_callers(absl::StrCat("--http-callers-of=", (*http)->port()));
  Ask(http_callers, absl::StrCat("connect ", HttpLoad::kOutstanding));

  const std::string checks = absl::StrCat("check ", kChecks);
  Measure(rpc_callers, checks, kChecks);
  Measure(http_callers, checks, kChecks);
  std::vector<double> rpc_us, http_us, ratios;
  const int64_t end = clock.Read().monotonic_ns + static_cast<int64_t>(seconds * 1e9);
  for (int round = 0; round < 3 || clock.Read().monotonic_ns < end; ++round) {
    activity.EndPoll();
    if (round % 2 == 0) rpc_us.push_back(Measure(rpc_callers, checks, kChecks));
    http_us.push_back(Measure(http_callers, checks, kChecks));
    if (round % 2 == 1) rpc_us.push_back(Measure(rpc_callers, checks, kChecks));
    ratios.push_back(http_us.back() / rpc_us.back());
  }

  const int64_t before_bytes = ResidentBytes();
  Ask(http_callers, absl::StrCat("connect ", kClients));
  const auto connections = static_cast<double>(kClients) - HttpLoad::kOutstanding;
  const double bytes = static_cast<double>(ResidentBytes() - before_bytes) / connections;
  // A second each: whatever else the machine does in one of them does not spoil the others.
  std::vector<double> head_us, head_p99_ms;
  for (int i = 0; i < 7; ++i) {
    const double before = CpuSeconds();
    head_p99_ms.push_back(Ask(http_callers, "heads 10") / 1000);
    head_us.push_back((CpuSeconds() - before) * 1e6 / (10.0 * kClients));
  }

  std::printf("server CPU, median of %zu slices            us\n", ratios.size());
  std::printf("  a Check over gRPC                    %7.2f\n", Median(rpc_us));
  std::printf("  a Check over HTTP                    %7.2f\n", Median(http_us));
  std::printf("  a HEAD of one of %d clients        %7.2f\n\n", kClients, Median(head_us));
  std::printf(
      "http: check_us=%.2f head_us=%.2f head_p99_ms=%.3f ratio_to_grpc=%.3f "
      "bytes_per_connection=%.0f\n",
      Median(http_us), Median(head_us), Median(head_p99_ms), Median(ratios), bytes);
  return Median(ratios) <= kMaxRatio && Median(head_p99_ms) <= kMaxHeadMs ? 0 : 1;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  double seconds = 10;
  for (int i = 1; i < argc; ++i) {
    int port = 0;
    if (std::strncmp(argv[i], "--rpc-callers-of=", 17) == 0 &&
        absl::SimpleAtoi(argv[i] + 17, &port)) {
      headgate::bench::RpcLoad(port).Obey();
      return 0;
    }
    if (std::strncmp(argv[i], "--http-callers-of=", 18) == 0 &&
        absl::SimpleAtoi(argv[i] + 18, &port)) {
      headgate::bench::RaiseFileLimit();
      headgate::bench::HttpLoad(port).Obey();
      return 0;
    }
    if (std::strncmp(argv[i], "--seconds=", 10) != 0 || !absl::SimpleAtod(argv[i] + 10, &seconds) ||
        seconds < 0) {
      std::fprintf(stderr, "usage: headgate-bench-http [--seconds=N]\n");
      return 2;
    }
  }
  return headgate::bench::Run(seconds);
}
