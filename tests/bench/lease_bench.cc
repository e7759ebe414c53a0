// What a piece of a lease costs its holder and the server, and how holders share a budget: the
// parts in C++. `./dev bench lease [PART...]` runs these and those of the other SDKs, and prints
// one line of all figures (lease/bench.sh).
//
//   headgate-bench-lease PART
//
// prints the part's figures as NAME=VALUE, one a line. It ends with 77 where this machine cannot
// measure them.
//
// admit: admit_ns is a piece on one thread, admit_two_threads_ns the wall time of a piece where two
// threads share the lease; medians of rounds. server_percent_at_100k is the share of a core that
// headgated takes while one holder spends 100,000 pieces a second, for ten seconds, over real
// sockets.
//
// share: twenty holders of unequal greed, whose pieces cost 1 to 5 and who want twenty times as
// much as there is, share one budget for ten seconds: jain is Jain's index of what each was
// admitted, and used is what all were admitted of what was due.
//
// simulated, with the real holders and engines: over_admitted is by how much a budget admitted more
// than it may, at worst, in 10^6 steps in which everything goes wrong (tests/sim/leases/world.h);
// safe_over is by how much twenty holders whose server is killed spend more than they hold and the
// budget's rate, until their safe time is over.
//
// approximate, revoke: see lease/approximate.h, lease/revoke.h.

#include <headgate/client.h>
#include <headgate/lease.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/bench/lease/approximate.h"
#include "tests/bench/lease/measuring.h"
#include "tests/bench/lease/revoke.h"
#include "tests/sim/leases/killed_server.h"
#include "tests/sim/leases/world.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/median.h"

namespace headgate::client {
namespace {

using bench::Fail;
using bench::NowSeconds;
using bench::Take;

constexpr double kRate = 20'000;
constexpr double kBurst = 2'000;
constexpr char kConfig[] = R"(
targets: [{name: orders}]
budgets:
  - {name: plenty, rate: 1e12, burst: 1e12}
  - {name: shared, rate: 20000, burst: 2000}
rules:
  - {name: plenty, match: {identity: plenty}, charge: [plenty]}
  - {name: shared, match: {identity: shared}, charge: [shared]}
)";

// Of all its threads.
double CpuSecondsOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string word;
  double ticks = 0;
  for (int field = 1; file >> word; ++field) {
    double value = 0;
    if ((field == 14 || field == 15) && absl::SimpleAtod(word, &value)) ticks += value;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// One that runs.
class Server {
 public:
  Server() : process_({.yaml = kConfig}) {
    if (absl::Status started = process_.Start(); !started.ok()) Fail(started.ToString());
  }
  const HeadgatedProcess& operator*() const { return process_; }

 private:
  HeadgatedProcess process_;
};

std::unique_ptr<Client> NewClient(const HeadgatedProcess& server) {
  return Take(
      Client::Create({.address = server.address(), .on_unreachable = OnUnreachable::Fail()}));
}

// The wall time of one of `pieces` pieces that this many threads share.
double PieceNs(Lease& lease, int threads, int pieces) {
  std::vector<std::thread> all;
  const double begin = NowSeconds();
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&lease, each = pieces / threads] {
      for (int done = 0; done < each;) done += lease.Admit(1).admitted ? 1 : 0;
    });
  }
  for (std::thread& thread : all) thread.join();
  return (NowSeconds() - begin) * 1e9 / pieces;
}

double ServerPercentAt100k(const HeadgatedProcess& server, Lease& lease) {
  constexpr int kSeconds = 10;
  constexpr int kPiecesInMs = 100;
  const double cpu = CpuSecondsOf(server.pid());
  const double begin = NowSeconds();
  for (int ms = 0; ms < kSeconds * 1000; ++ms) {
    for (int i = 0; i < kPiecesInMs; ++i) {
      while (!lease.Admit(1)) std::this_thread::yield();
    }
    const double left = begin + 1e-3 * (ms + 1) - NowSeconds();
    if (left > 0) usleep(static_cast<useconds_t>(left * 1e6));
  }
  return 100 * (CpuSecondsOf(server.pid()) - cpu) / (NowSeconds() - begin);
}

std::string MeasureShares() {
  constexpr int kHolders = 20;
  constexpr double kSeconds = 10;
  const Server server;
  const std::unique_ptr<Client> client = NewClient(*server);
  std::vector<double> spent(kHolders, 0.0);
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  const double begin = NowSeconds();
  for (int i = 0; i < kHolders; ++i) {
    threads.emplace_back([&, i] {
      const double cost = 1 + i % 5;
      const auto lease = Take(
          client->NewLease({.identity = absl::StrCat("holder-", i, ":shared"), .piece = cost}));
      while (!done.load()) {
        if (lease->Wait(cost, absl::Milliseconds(100)).ok()) spent[static_cast<size_t>(i)] += cost;
      }
    });
  }
  while (NowSeconds() - begin < kSeconds) usleep(10'000);
  done = true;
  for (std::thread& thread : threads) thread.join();
  const double due = kBurst + kRate * (NowSeconds() - begin);
  double sum = 0, squares = 0;
  for (const double each : spent) {
    sum += each;
    squares += each * each;
  }
  if (sum > due) Fail(absl::StrCat("the holders were admitted ", sum - due, " too much"));
  return absl::StrFormat("jain=%.3f\nused=%.3f\n", sum * sum / (kHolders * squares), sum / due);
}

std::string MeasureSimulated() {
  leases::World world({.seed = 1});
  world.Run(1'000'000);
  if (!world.violation().empty()) Fail(world.violation());
  return absl::StrFormat("over_admitted=%.1f\nsafe_over=%.1f\n", world.over_admitted(),
                         leases::SpendAfterTheKill({.seed = 1}).over);
}

std::string MeasureAdmit() {
  constexpr int kRounds = 9;
  const Server server;
  const std::unique_ptr<Client> client = NewClient(*server);
  const auto lease = Take(client->NewLease({.identity = "job:plenty", .piece = 1e6}));
  if (absl::Status turn = lease->Wait(1, absl::Seconds(10)); !turn.ok()) Fail(turn.ToString());
  std::vector<double> one, two;
  for (int i = 0; i < kRounds; ++i) {
    one.push_back(PieceNs(*lease, 1, 2'000'000));
    two.push_back(PieceNs(*lease, 2, 2'000'000));
  }
  return absl::StrFormat("admit_ns=%.1f\nadmit_two_threads_ns=%.1f\nserver_percent_at_100k=%.2f\n",
                         Median(one), Median(two), ServerPercentAt100k(*server, *lease));
}

struct Part {
  std::string_view name;
  std::string (*measure)();  // empty: this machine cannot
};
constexpr Part kParts[] = {{"admit", MeasureAdmit},
                           {"share", MeasureShares},
                           {"revoke", bench::MeasureRevocation},
                           {"simulated", MeasureSimulated},
                           {"approximate", bench::MeasureApproximate}};

int Main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  for (const Part& part : kParts) {
    if (part.name != name) continue;
    const std::string figures = part.measure();
    std::fputs(figures.c_str(), stdout);
    return figures.empty() ? 77 : 0;
  }
  std::fprintf(stderr, "usage: headgate-bench-lease PART\nparts:");
  for (const Part& part : kParts) std::fprintf(stderr, " %s", std::string(part.name).c_str());
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace
}  // namespace headgate::client

int main(int argc, char** argv) { return headgate::client::Main(argc, argv); }
