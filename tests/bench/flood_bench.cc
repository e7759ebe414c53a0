// A flood of new identities against a real headgated: ten million of them, each with a bucket of
// its own for as long as it is not evicted, a name in the throttle log and a permit. Is the
// server's memory the same after a million as after ten, and do known callers notice?
//
// Known callers are measured while other callers send a fixed number of Checks a second: in one
// phase by a thousand known identities, in the next by as many as there are Checks, each new.
// Phases alternate, and the ratio of the calmest of each kind counts: whatever else the machine
// does only ever adds to a phase. Between the rounds the flood goes on as fast as it can. Memory
// moves by a few MiB, because a cache of names is filled and emptied. See tests/dev/flood.sh for
// the goals; tests/decide/engine/identity_flood_test.cc claims the same of the engine alone, to the
// byte.
//
//   headgate-bench-flood [--identities=N] [--rounds=N]

#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/median.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

constexpr int kInBatch = 500;
constexpr int64_t kKnownIdentities = 1000;
constexpr int64_t kChecksPerSecond = 30'000;  // of the other callers, while known ones are measured
constexpr int64_t kPhaseNs = 1'000'000'000;
constexpr int64_t kMillion = 1'000'000;

// Every identity has a bucket; of what a table cannot hold, the emptiest goes. The log's file is as
// small as its first million identities make it, so that what SQLite keeps of it in memory is full.
constexpr char kConfiguration[] = R"yaml(
server: {threads: 1}
engine: {permit_ttl: 5s}
budgets:
  - {name: jobs, rate: 1000, burst: 1000, split: {depth: 2}, max_buckets: 65536, default_cost: 1}
rules:
  - {name: known, match: {identity: known}, charge: [jobs]}
  - {name: flood, match: {identity: flood}, charge: [jobs]}
throttle_log: {max_bytes: 8388608}
)yaml";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "flood: %s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

void Require(const grpc::Status& status) {
  if (!status.ok()) Fail(status.error_message());
}

std::unique_ptr<v1::ThrottlerService::Stub> Connect(const std::string& address) {
  return v1::ThrottlerService::NewStub(OwnChannel(address));
}

// Sends Checks by the batch, and reports what was admitted, from one thread.
class OtherCallers {
 public:
  explicit OtherCallers(const std::string& address) : stub_(Connect(address)) {}

  // `count` identities that were never seen, in turn by batches and on a stream.
  void Flood(int64_t count) {
    grpc::ClientContext context;
    const auto stream = stub_->CheckStream(&context);
    v1::CheckStreamRequest request;
    v1::CheckStreamResponse response;
    for (int64_t sent = 0; sent < count; sent += 2 * kInBatch) {
      Fill(request, /*known=*/false);
      if (!stream->Write(request) || !stream->Read(&response)) break;
      Report(response);
      Batch(/*known=*/false);
    }
    stream->WritesDone();
    Require(stream->Finish());
  }

  // At kChecksPerSecond until told to stop; what is late is not made up for.
  void Pace(bool known, const std::atomic<bool>& stop) {
    constexpr int64_t kEveryNs = kInBatch * int64_t{1'000'000'000} / kChecksPerSecond;
    int64_t next_ns = MonotonicNs();
    while (!stop.load(std::memory_order_relaxed)) {  // a flag, and nothing behind it
      Batch(known);
      next_ns = std::max(next_ns + kEveryNs, MonotonicNs());
      poll(nullptr, 0, static_cast<int>((next_ns - MonotonicNs()) / 1'000'000));
    }
  }

  // Thread-safe.
  int64_t new_identities() const { return new_.load(std::memory_order_relaxed); }

 private:
  template <typename Request>
  void Fill(Request& request, bool known) {
    while (request.checks_size() < kInBatch) request.add_checks()->set_estimated_cost(1);
    for (v1::CheckRequest& check : *request.mutable_checks()) {
      const int64_t number =
          known ? old_++ % kKnownIdentities : new_.fetch_add(1, std::memory_order_relaxed);
      check.set_identity(absl::StrCat(absl::Hex(number, absl::kZeroPad8), known ? ":k" : ":f",
                                      absl::Hex(number, absl::kZeroPad8), ":flood"));
    }
  }

  void Batch(bool known) {
    Fill(batch_, known);
    grpc::ClientContext context;
    v1::BatchCheckResponse response;
    Require(stub_->BatchCheck(&context, batch_, &response));
    Report(response);
  }

  template <typename Response>
  void Report(const Response& response) {
    v1::ReportRequest reports;
    for (const v1::CheckResult& result : response.results()) {
      if (result.has_error()) Fail(result.error().message());
      if (!result.decision().has_permit_id()) continue;
      v1::PermitReport& report = *reports.add_reports();
      report.set_permit_id(result.decision().permit_id());
      report.set_actual_cost(1);
    }
    grpc::ClientContext context;
    v1::ReportResponse done;
    Require(stub_->Report(&context, reports, &done));
  }

  const std::unique_ptr<v1::ThrottlerService::Stub> stub_;
  v1::BatchCheckRequest batch_;
  std::atomic<int64_t> new_{0};  // relaxed: only how many there are is read elsewhere
  int64_t old_ = 0;
};

// One known caller that asks a thousand times a second at most.
class KnownCaller {
 public:
  explicit KnownCaller(const std::string& address) : stub_(Connect(address)) {}

  struct Latency {
    double median_us = 0;
    double p99_us = 0;
  };
  Latency Measure() {
    std::vector<double> us;
    const int64_t end_ns = MonotonicNs() + kPhaseNs;
    while (MonotonicNs() < end_ns) {
      const int64_t began_ns = MonotonicNs();
      Ask();
      us.push_back(1e-3 * static_cast<double>(MonotonicNs() - began_ns));
      poll(nullptr, 0, 1);
    }
    std::sort(us.begin(), us.end());
    return {us[us.size() / 2], us[us.size() * 99 / 100]};
  }

 private:
  void Ask() {
    v1::CheckRequest check;
    check.set_identity(absl::StrCat("job-", asked_++ % 10, ":known"));
    check.set_estimated_cost(1);
    grpc::ClientContext context;
    v1::CheckResponse response;
    Require(stub_->Check(&context, check, &response));
    if (response.decision().verdict() != v1::VERDICT_ALLOWED) {
      Fail("a known caller was denied: " + response.decision().message());
    }
  }

  const std::unique_ptr<v1::ThrottlerService::Stub> stub_;
  int64_t asked_ = 0;
};

// The server's memory, ten times a second, by how many millions of identities it had seen. It is a
// sawtooth, since the log's cache of names is filled and emptied every few seconds: medians count.
class Memory {
 public:
  Memory(pid_t pid, const OtherCallers& others)
      : thread_([this, pid, &others] {
          while (!stop_.load(std::memory_order_relaxed)) {  // a flag, and nothing behind it
            const absl::StatusOr<ProcessUsage> usage = UsageOf(pid);
            if (!usage.ok()) Fail(std::string(usage.status().message()));
            const auto million = static_cast<size_t>(others.new_identities() / kMillion);
            if (mib_.size() <= million) mib_.resize(million + 1);
            mib_[million].push_back(usage->rss_mib);
            poll(nullptr, 0, 100);
          }
        }) {}

  // The median of each million, in MiB; those that were over too soon are left out.
  std::vector<double> Stop() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
    std::vector<double> medians;
    for (const std::vector<double>& samples : mib_) {
      if (samples.size() >= kLeastSamples) medians.push_back(Median(samples));
    }
    return medians;
  }

 private:
  static constexpr size_t kLeastSamples = 10;

  std::atomic<bool> stop_{false};
  std::vector<std::vector<double>> mib_;  // the thread's, until it has ended
  std::thread thread_;
};

// The last third against the first, without the first million, which warms up.
double MemoryRatio(const std::vector<double>& mib) {
  const auto third = static_cast<std::ptrdiff_t>(std::max<size_t>((mib.size() - 1) / 3, 1));
  const auto begin = mib.begin() + 1;
  return Median({mib.end() - third, mib.end()}) / Median({begin, begin + third});
}

class Experiment {
 public:
  Experiment(HeadgatedProcess& server, int64_t identities, int rounds)
      : server_(server),
        identities_(identities),
        rounds_(rounds),
        others_(server.address()),
        known_(server.address()) {}

  int Run() {
    Phase(/*known=*/true);  // warms up
    Memory memory(server_.pid(), others_);
    others_.Flood(kMillion);
    const int64_t each = (identities_ - kMillion) / rounds_;
    for (int round = 0; round < rounds_; ++round) {
      const int64_t so_far = others_.new_identities();
      // Whichever is second finds caches as the other left them: they take turns.
      if (round % 2 == 0) Add(before_, /*known=*/true);
      Add(during_, /*known=*/false);
      if (round % 2 == 1) Add(before_, /*known=*/true);
      const int64_t left = each - (others_.new_identities() - so_far);
      if (left > 0) others_.Flood(left);
    }
    if (others_.new_identities() < identities_) {
      others_.Flood(identities_ - others_.new_identities());
    }
    Print(memory.Stop());
    return EXIT_SUCCESS;
  }

 private:
  KnownCaller::Latency Phase(bool known) {
    std::atomic<bool> stop{false};
    std::thread others([&] { others_.Pace(known, stop); });
    const KnownCaller::Latency latency = known_.Measure();
    stop.store(true, std::memory_order_relaxed);
    others.join();
    return latency;
  }

  void Add(std::vector<KnownCaller::Latency>& to, bool known) { to.push_back(Phase(known)); }

  static double CalmestMedian(const std::vector<KnownCaller::Latency>& phases) {
    const auto calmer = [](const auto& a, const auto& b) { return a.median_us < b.median_us; };
    return std::min_element(phases.begin(), phases.end(), calmer)->median_us;
  }

  void Print(const std::vector<double>& mib) const {
    if (mib.size() < 3) Fail("it was over before its memory could be looked at");

    std::vector<double> p99_ratios;
    for (size_t i = 0; i < before_.size(); ++i) {
      p99_ratios.push_back(during_[i].p99_us / before_[i].p99_us);
    }
    const double before_us = CalmestMedian(before_), during_us = CalmestMedian(during_);
    std::printf("a known caller's Check, median of the calmest of %zu phases    us\n",
                before_.size());
    std::printf("  others are known identities           %8.1f\n", before_us);
    std::printf("  others are new identities             %8.1f\n", during_us);
    std::printf("  ratio of the 99th percentiles         %8.2f\n", Median(p99_ratios));
    std::printf("memory by the million, MiB             ");
    for (const double each : mib) std::printf(" %.1f", each);
    std::printf("\n\n");
    std::printf("flood: identities=%lld latency_ratio=%.3f rss_ratio=%.3f\n",
                static_cast<long long>(others_.new_identities()), during_us / before_us,
                MemoryRatio(mib));
  }

  HeadgatedProcess& server_;
  const int64_t identities_;
  const int rounds_;
  OtherCallers others_;
  KnownCaller known_;
  std::vector<KnownCaller::Latency> before_, during_;
};

int Run(int64_t identities, int rounds) {
  HeadgatedProcess server({.yaml = kConfiguration});
  const absl::Status started = server.Start();
  if (!started.ok()) Fail(std::string(started.message()));
  const int status = Experiment(server, identities, rounds).Run();
  const absl::Status stopped = server.Stop();
  if (!stopped.ok()) Fail(std::string(stopped.message()));
  return status;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  int64_t identities = 10'000'000;
  int rounds = 9;
  for (int i = 1; i < argc; ++i) {
    const bool known =
        (std::strncmp(argv[i], "--identities=", 13) == 0 &&
         absl::SimpleAtoi(argv[i] + 13, &identities)) ||
        (std::strncmp(argv[i], "--rounds=", 9) == 0 && absl::SimpleAtoi(argv[i] + 9, &rounds));
    if (!known || rounds < 1 || identities < 3 * headgate::bench::kMillion) {
      std::fprintf(stderr,
                   "usage: headgate-bench-flood [--identities=N] [--rounds=N]\n"
                   "at least three million identities, and one round\n");
      return 2;
    }
  }
  return headgate::bench::Run(identities, rounds);
}
