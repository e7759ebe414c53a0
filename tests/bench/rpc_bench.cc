// What a Check costs the server as an RPC, against an RPC whose handler does nothing.
//
// Both are methods of one server: the same port, serving thread and machinery for calls. An empty
// RPC has an empty request and an empty response; a Check has an identity of four levels, is
// charged to four budgets under 10,000 rules, is answered with the health it was decided under, and
// counted for the throttle log.
// In batches and on streams every Check has another identity. Callers are another process, with 64
// RPCs or messages outstanding on 4 connections. What is measured is the CPU time of this process,
// all threads, user and system; permits are reported between the slices, which is not measured.
//
// Slices of both take turns, and the ratio is the median of the ratios of neighbours: whatever else
// goes on in the machine hits both.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/serve/rpc/rpc_server.h"
#include "server/serve/transport/service.h"
#include "server/serve/transport/unary_route.h"
#include "tests/bench/charged_checks.h"
#include "tests/bench/other_process.h"
#include "tests/bench/rpc_load.h"
#include "tests/testing/median.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::bench {
namespace {

// In one slice; few enough for all permits of a slice to be held at once.
constexpr int kRpcs = 3'000;
constexpr int kBatches = 200;
constexpr int kMessages = 320;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

class EmptyService final : public transport::AsyncService {
 public:
  void Open(transport::ServingLoop& loop) override {
    using google::protobuf::Empty;
    loop.Own(std::make_unique<transport::UnaryRoute<Empty, Empty>>(
        *this, transport::UnaryRouteOptions{.method = call_, .loop = loop, .waiting_calls = 128},
        [](size_t, auto&, auto&, auto&) { return grpc::Status(); }));
  }

 private:
  const int call_ = AddAsync(kEmptyMethod, Kind::NORMAL_RPC);
};

// Microseconds of CPU for each unit, and the latencies.
struct Row {
  std::vector<double> us;
  std::vector<double> p99_us;

  void Measure(OtherProcess& callers, const char* what, int count, int units_each) {
    const double before = CpuSeconds();
    double p99 = 0;
    if (!absl::SimpleAtod(callers.Do(absl::StrCat(what, " ", count)), &p99)) Fail("no latency");
    p99_us.push_back(p99);
    us.push_back((CpuSeconds() - before) * 1e6 / (static_cast<double>(count) * units_each));
    callers.Do("settle");
  }
};

void Report(const Row& empty, const Row& check, const Row& batch, const Row& stream) {
  std::vector<double> ratios;
  for (size_t i = 0; i < check.us.size(); ++i) ratios.push_back(check.us[i] / empty.us[i]);
  std::printf("server CPU, median of %zu slices            us\n", ratios.size());
  std::printf("  an empty RPC                         %7.2f\n", Median(empty.us));
  std::printf("  a Check                              %7.2f\n", Median(check.us));
  std::printf("  a decision in a batch of %-4d         %7.3f\n", kInBatch, Median(batch.us));
  std::printf("  a decision on a stream, %d a message %7.3f\n\n", kInMessage, Median(stream.us));
  std::printf(
      "rpc: empty_us=%.2f check_us=%.2f ratio=%.3f batch100_us=%.3f stream_us=%.3f p99_ms=%.2f\n",
      Median(empty.us), Median(check.us), Median(ratios), Median(batch.us), Median(stream.us),
      Median(check.p99_us) / 1000);
}

int Run(double seconds) {
  SystemClock clock;
  engine::Engine engine({.seed = 0x1234567890abcdef});
  if (absl::Status ready = Prepare(engine, clock); !ready.ok()) Fail(std::string(ready.message()));
  EmptyService empty_service;
  MonitoredTarget activity;
  throttle_log::Recorder recorder({.seed = 0x1234567890abcdef});
  rpc::QuietDependencies quiet(engine, clock);
  const rpc::RpcServerOptions options{.address = "127.0.0.1:0",
                                      .more_async_services = {&empty_service}};
  auto server = rpc::RpcServer::Start(options, {.engine = engine,
                                                .clock = clock,
                                                .status = quiet.status,
                                                .activity = activity,
                                                .recorder = recorder,
                                                .access = quiet.access,
                                                .lines = quiet.lines,
                                                .calls = quiet.calls});
  if (!server.ok()) Fail(std::string(server.status().message()));
  OtherProcess callers(absl::StrCat("--callers-of=", (*server)->port()));
  Row warm_up, empty, check, batch, stream;
  warm_up.Measure(callers, "empty", kRpcs, 1);
  warm_up.Measure(callers, "check", kRpcs, 1);
  const int64_t end = clock.Read().monotonic_ns + static_cast<int64_t>(seconds * 1e9);
  for (int round = 0; round < 3 || clock.Read().monotonic_ns < end; ++round) {
    activity.EndPoll();
    if (round % 2 == 0) empty.Measure(callers, "empty", kRpcs, 1);
    check.Measure(callers, "check", kRpcs, 1);
    if (round % 2 == 1) empty.Measure(callers, "empty", kRpcs, 1);
    batch.Measure(callers, "batch", kBatches, kInBatch);
    stream.Measure(callers, "stream", kMessages, kInMessage);
  }
  Report(empty, check, batch, stream);
  return 0;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  double seconds = 35;
  for (int i = 1; i < argc; ++i) {
    int port = 0;
    if (std::strncmp(argv[i], "--callers-of=", 13) == 0 && absl::SimpleAtoi(argv[i] + 13, &port)) {
      headgate::bench::RpcLoad(port).Obey();
      return 0;
    }
    if (std::strncmp(argv[i], "--seconds=", 10) != 0 || !absl::SimpleAtod(argv[i] + 10, &seconds) ||
        seconds < 0) {
      std::fprintf(stderr, "usage: headgate-bench-rpc [--seconds=N]\n");
      return 2;
    }
  }
  return headgate::bench::Run(seconds);
}
