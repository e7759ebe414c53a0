// A process that is killed at random moments while it makes and ends overrides forgets nothing that
// it acknowledged.

#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "tests/remember/overrides/overrides_fixture.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/test_scale.h"
#include "tests/testing/wait_until.h"

namespace headgate::overrides {
namespace {

const int kRounds = Scaled(59);

// Runs the churn until it has said so many lines, and a moment longer; returns what it said.
std::string RunAndKill(const std::string& path, int round, size_t lines, int moment_us) {
  Subprocess churn({HEADGATE_OVERRIDE_CHURN, path, std::to_string(round)});
  const auto said = [&] {
    const std::string out = churn.Out();
    return static_cast<size_t>(std::count(out.begin(), out.end(), '\n'));
  };
  WaitUntil([&] { return churn.HasEnded() || said() >= lines; });
  // Nothing is polled: the timeout is the moment.
  const timespec moment{.tv_sec = 0, .tv_nsec = 1000L * moment_us};
  ppoll(nullptr, 0, &moment, nullptr);
  churn.Signal(SIGKILL);
  const Finished end = churn.Wait();
  EXPECT_EQ(end.status, 128 + SIGKILL) << "round " << round << " ended by itself: " << end.err;
  return end.out;
}

// What was acknowledged, and what may or may not have happened besides.
struct Known {
  std::set<int64_t> in_force;
  std::set<int64_t> made;
  bool may_have_created = false;
  int64_t may_have_deleted = 0;

  void Learn(const std::string& said) {
    std::istringstream lines(said);
    for (std::string word; lines >> word;) {
      int64_t id = 0;
      if (word != "create") lines >> id;
      may_have_created = word == "create";
      may_have_deleted = word == "delete" ? id : 0;
      if (word == "created") {
        EXPECT_TRUE(made.insert(id).second) << "id " << id << " was used before";
        in_force.insert(id);
      }
      if (word == "deleted") in_force.erase(id);
    }
  }
};

using Crash = OverridesTest;

TEST_F(Crash, ForgetsNothingThatWasAcknowledged) {
  std::mt19937_64 random(20261120);
  Known known;
  int in_doubt = 0;
  for (int round = 0; round < kRounds; ++round) {
    known.Learn(RunAndKill(path(), round, 1 + random() % 60, static_cast<int>(random() % 3000)));
    Desk desk(path(), clock_);
    std::set<int64_t> found;
    for (const int64_t id : desk.Listed({.most = 1000})) found.insert(id);
    for (const int64_t id : known.in_force) {
      if (id == known.may_have_deleted) continue;
      EXPECT_TRUE(found.contains(id)) << "round " << round << " forgot " << id;
    }
    int more = 0;
    for (const int64_t id : found) {
      if (known.in_force.contains(id)) continue;
      EXPECT_TRUE(known.may_have_created) << "round " << round << " brought back " << id;
      EXPECT_TRUE(known.made.insert(id).second) << "round " << round << " brought back " << id;
      ++more;
    }
    EXPECT_LE(more, 1);
    in_doubt += known.may_have_created || known.may_have_deleted != 0 ? 1 : 0;
    known.in_force = found;
    // Whatever is there was made, and each was made once.
    std::set<int64_t> created;
    for (const Event& event : desk.Events({.most = 100'000})) {
      if (event.kind == EventKind::kCreated) {
        EXPECT_TRUE(created.insert(event.override.id).second);
      }
    }
    EXPECT_EQ(created, known.made);
  }
  EXPECT_GT(in_doubt, kRounds / 4) << "hardly any was killed in the middle of a change";
}

}  // namespace
}  // namespace headgate::overrides
