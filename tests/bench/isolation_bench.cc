// What one caller does harms no other: two honest jobs, one over gRPC and one over HTTP, beside
// each of many hostile or mistaken neighbours in turn, on a server of its own for each, with a
// policy as the README has it.
//
// The jobs work alone and beside their neighbour by turns, and the ratio of the medians counts, so
// that whatever else the machine does is in both. The jobs and the server go before the neighbour's
// own side where that is allowed (root, CAP_SYS_NICE), as if each had a machine of its own;
// elsewhere the latency has that in it as well, and a line says so. Neighbours are paced: an act is
// followed by four times as long a pause, and there are only so many in a phase.
//
// The goals: no Check of the honest jobs fails or is denied, the 99th percentile of each one's
// latency is at most three times what it is alone, the server has at most 600 MiB, and the
// predicted cost moves by 1 % at most. A line for each neighbour says which it misses; then the
// program fails. The last line has the worst of all: honest_p99_ratio, honest_denied (failed calls
// too), peak_mib and learnt_shift. --list names the neighbours. A new one is a function in
// tests/bench/isolation/ and a line in the table at the end of its file.
//
//   headgate-bench-isolation [--neighbours=NAME,...] [--rounds=N] [--phase-ms=N] [--list]

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/bench/going_first.h"
#include "tests/bench/isolation/honest_job.h"
#include "tests/bench/isolation/neighbours.h"
#include "tests/testing/certificates.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/median.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

constexpr double kMostP99Ratio = 3;
constexpr double kMostMiB = 600;
constexpr double kMostShift = 0.01;

// Actions of a neighbour in one phase, at most, and its pause after each.
constexpr int kMostActs = 1000;
constexpr int64_t kPauseForAct = 4;
constexpr int64_t kLongestPauseNs = 500'000'000;

// The honest job's budgets are far beyond what it asks for, and no guest is charged to them.
constexpr char kConfiguration[] = R"yaml(
budgets:
  - {name: backfills, rate: 100000, burst: 100000}
  - {name: per-job, rate: 20000, burst: 20000, split: {depth: 2}}
  - {name: per-guest, rate: 100, burst: 1000, split: {depth: 2}}
rules:
  - {name: backfills, match: {identity: backfill}, charge: [backfills, per-job]}
  - {name: guests, match: {identity: guest}, charge: [per-guest]}
)yaml";

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "isolation: %s\n", what.c_str());
  std::exit(EXIT_FAILURE);
}

struct Options {
  std::vector<std::string> neighbours = {};  // empty: all
  int rounds = 5;
  absl::Duration phase = absl::Seconds(1);
};

// What a Check takes at the 99th percentile.
struct Latency {
  double alone_us = 0;
  double beside_us = 0;

  double ratio() const { return beside_us / alone_us; }
};

struct Result {
  Latency grpc = {};
  Latency http = {};
  int denied = 0;
  std::string why = {};
  double peak_mib = 0;
  double shift = 0;

  double p99_ratio() const { return std::max(grpc.ratio(), http.ratio()); }
  std::string Missed() const {
    std::string missed;
    if (denied > 0) absl::StrAppend(&missed, " denied (", why.substr(0, 80), ")");
    if (p99_ratio() > kMostP99Ratio) absl::StrAppend(&missed, " latency");
    if (peak_mib > kMostMiB) absl::StrAppend(&missed, " memory");
    if (shift > kMostShift) absl::StrAppend(&missed, " learnt");
    return missed;
  }
};

// One phase of a neighbour: begins with the object, ends with it.
class Nuisance {
 public:
  explicit Nuisance(const Act& act) : thread_([this, &act] { Run(act); }) {}
  ~Nuisance() {
    stop_.store(true, std::memory_order_relaxed);  // a flag, and nothing behind it
    thread_.join();
  }

 private:
  void Run(const Act& act) {
    for (int acts = 0; acts < kMostActs && !IsStopped(); ++acts) {
      const int64_t began_ns = MonotonicNs();
      act();
      const int64_t took_ns = MonotonicNs() - began_ns;
      const int64_t pause_ns = std::min(kPauseForAct * took_ns, kLongestPauseNs);
      const int64_t until_ns = MonotonicNs() + pause_ns;
      do {
        poll(nullptr, 0, 1);
      } while (MonotonicNs() < until_ns && !IsStopped());
    }
  }
  bool IsStopped() const { return stop_.load(std::memory_order_relaxed); }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Experiment {
 public:
  Experiment(const Neighbour& neighbour, const Options& options)
      : neighbour_(neighbour), options_(options) {}

  Result Run() {
    const TempFolder folder;
    const bool over_tls = neighbour_.over == Neighbour::Over::kTls;
    HeadgatedProcess server({.yaml = absl::StrCat(kConfiguration, over_tls ? WriteTls(folder) : ""),
                             .http_address = "127.0.0.1:0"});
    if (const absl::Status started = StartFirst(server); !started.ok()) {
      Fail(std::string(started.message()));
    }
    // Its callers are gone before it stops: a channel that nobody polls hears of that after 5 s.
    Measure({.port = server.port(),
             .http_port = server.http_port(),
             .address = server.address(),
             .ca_file = over_tls ? folder.File("ca.crt") : ""});
    result_.grpc = grpc_.Medians();
    result_.http = http_.Medians();
    Leave(server);
    return result_;
  }

 private:
  // Certificates, and the configuration that takes them.
  static std::string WriteTls(const TempFolder& folder) {
    CertificateAuthority authority("isolation");
    const TestCertificate own = authority.SignServer();
    ReplaceFile(folder.File("ca.crt"), authority.certificate());
    ReplaceFile(folder.File("tls.crt"), own.certificate);
    ReplaceFile(folder.File("tls.key"), own.key);
    return absl::StrCat("tls: {certificate_file: ", folder.File("tls.crt"),
                        ", key_file: ", folder.File("tls.key"), "}\n");
  }

  static absl::Status StartFirst(HeadgatedProcess& server) {
    const GoingFirst first(1);
    return server.Start();
  }

  void Measure(const AttackedServer& attacked) {
    HonestJob job(attacked);
    job.Work(options_.phase / 2);  // warms up
    const Act act = neighbour_.begin(attacked);
    for (int round = 0; round < options_.rounds; ++round) {
      // Whichever is second finds caches as the other left them: they take turns.
      if (round % 2 == 0) Add(&Latencies::alone_us, job.Work(options_.phase));
      {
        const Nuisance nuisance(act);
        Add(&Latencies::beside_us, job.Work(options_.phase));
      }
      if (round % 2 == 1) Add(&Latencies::alone_us, job.Work(options_.phase));
    }
  }

  // Of all phases.
  struct Latencies {
    std::vector<double> alone_us = {};
    std::vector<double> beside_us = {};

    Latency Medians() const { return {Median(alone_us), Median(beside_us)}; }
  };

  void Add(std::vector<double> Latencies::*phases, const Experience& experience) {
    (grpc_.*phases).push_back(experience.grpc_p99_us);
    (http_.*phases).push_back(experience.http_p99_us);
    result_.denied += experience.denied;
    if (experience.denied > 0) result_.why = experience.why;
    result_.shift = std::max(result_.shift, experience.shift);
  }

  void Leave(HeadgatedProcess& server) {
    const absl::StatusOr<ProcessUsage> usage = UsageOf(server.pid());
    if (!usage.ok()) Fail(absl::StrCat(neighbour_.name, " has ended the server"));
    result_.peak_mib = usage->peak_mib;
    if (const absl::Status stopped = server.Stop(); !stopped.ok()) {
      Fail(std::string(stopped.message()));
    }
  }

  const Neighbour& neighbour_;
  const Options& options_;
  Latencies grpc_, http_;
  Result result_;
};

std::vector<Neighbour> AllNeighbours() {
  std::vector<Neighbour> all;
  for (const auto& some : {WireNeighbours(), HttpNeighbours(), JsonNeighbours(), TlsNeighbours(),
                           CheckNeighbours(), ReadNeighbours()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<Neighbour> Chosen(const Options& options) {
  const std::vector<Neighbour> all = AllNeighbours();
  if (options.neighbours.empty()) return all;
  std::vector<Neighbour> chosen;
  for (const std::string& name : options.neighbours) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Neighbour& each) { return name == each.name; });
    if (found == all.end()) Fail("there is no neighbour " + name);
    chosen.push_back(*found);
  }
  return chosen;
}

// Some neighbours have thousands of connections.
void RaiseFileLimit() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int Run(const Options& options) {
  RaiseFileLimit();
  if (!GoingFirst(1).allowed())
    std::puts("may not go first: the latency is not the server's alone");
  std::printf("%-26s %8s %6s %6s %8s %6s %6s %7s %9s %8s\n", "beside", "gRPC us", "beside", "ratio",
              "HTTP us", "beside", "ratio", "denied", "peak MiB", "learnt");
  Result worst;
  double worst_ratio = 0;
  bool missed = false;
  for (const Neighbour& neighbour : Chosen(options)) {
    const Result result = Experiment(neighbour, options).Run();
    const std::string misses = result.Missed();
    std::printf("%-26s %8.0f %6.0f %6.2f %8.0f %6.0f %6.2f %7d %9.0f %8.4f%s%s\n", neighbour.name,
                result.grpc.alone_us, result.grpc.beside_us, result.grpc.ratio(),
                result.http.alone_us, result.http.beside_us, result.http.ratio(), result.denied,
                result.peak_mib, result.shift, misses.empty() ? "" : "  MISSED:", misses.c_str());
    std::fflush(stdout);
    missed = missed || !misses.empty();
    worst_ratio = std::max(worst_ratio, result.p99_ratio());
    worst.denied += result.denied;
    worst.peak_mib = std::max(worst.peak_mib, result.peak_mib);
    worst.shift = std::max(worst.shift, result.shift);
  }
  std::printf(
      "\nisolation: honest_p99_ratio=%.2f honest_denied=%d peak_mib=%.0f learnt_shift=%.4f\n",
      worst_ratio, worst.denied, worst.peak_mib, worst.shift);
  return missed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// At commas.
std::vector<std::string> Split(std::string_view names) {
  std::vector<std::string> split;
  for (size_t begin = 0; begin <= names.size();) {
    const size_t comma = std::min(names.find(',', begin), names.size());
    split.emplace_back(names.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return split;
}

// False: there is no such argument.
bool Take(std::string_view argument, Options& options) {
  int ms = 0;
  const auto value_of = [&](std::string_view name) {
    const bool is_it = argument.starts_with(name);
    return is_it ? std::string(argument.substr(name.size())) : std::string();
  };
  if (const std::string names = value_of("--neighbours="); !names.empty()) {
    options.neighbours = Split(names);
    return true;
  }
  if (const std::string rounds = value_of("--rounds="); !rounds.empty()) {
    return absl::SimpleAtoi(rounds, &options.rounds) && options.rounds >= 1;
  }
  if (const std::string phase = value_of("--phase-ms="); !phase.empty()) {
    if (!absl::SimpleAtoi(phase, &ms) || ms < 100) return false;
    options.phase = absl::Milliseconds(ms);
    return true;
  }
  return false;
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  headgate::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument.starts_with(headgate::bench::kHonestJobFlag)) {
      const auto told =
          headgate::bench::Split(argument.substr(sizeof(headgate::bench::kHonestJobFlag) - 1));
      int http_port = 0;
      if (told.size() != 3 || !absl::SimpleAtoi(told[1], &http_port)) return 2;
      headgate::bench::WorkAsTold(
          {.port = 0, .http_port = http_port, .address = told[0], .ca_file = told[2]});
      return EXIT_SUCCESS;
    }
    if (argument == "--list") {
      for (const auto& neighbour : headgate::bench::AllNeighbours()) std::puts(neighbour.name);
      return EXIT_SUCCESS;
    }
    if (!headgate::bench::Take(argument, options)) {
      std::fprintf(stderr,
                   "usage: headgate-bench-isolation [--neighbours=NAME,...] [--rounds=N] "
                   "[--phase-ms=N] [--list]\n");
      return 2;
    }
  }
  return headgate::bench::Run(options);
}
