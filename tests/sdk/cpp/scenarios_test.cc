// The C++ SDK plays the scenarios of tests/sdk/scenarios, whose README is their format.

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sdk/cpp/expectation.h"
#include "tests/sdk/cpp/fields.h"
#include "tests/sdk/cpp/player.h"

namespace headgate::client {
namespace {

using ::testing::IsEmpty;

// Most of the time they wait.
constexpr int kPlayers = 6;

struct Play {
  std::string name;
  std::string claim;
  std::string text;
  Place place;
};

// Whether the scenario is for `word`; those that do not say are for all.
bool IsFor(const std::optional<YAML::Node>& words, const std::string& word) {
  if (!words.has_value()) return true;
  return std::any_of(words->begin(), words->end(),
                     [&](const YAML::Node& each) { return each.as<std::string>() == word; });
}

void Append(const YAML::Node& node, std::set<std::string>& names, std::vector<Play>& plays) {
  Fields fields(node, "a scenario");
  Play play{.name = fields.Get<std::string>("name", ""),
            .claim = fields.Get<std::string>("claim", ""),
            .text = YAML::Dump(node),
            .place = Place::kFake};
  EXPECT_TRUE(names.insert(play.name).second) << "two are called " << play.name;
  EXPECT_FALSE(play.claim.empty()) << play.name;
  const bool ours = IsFor(fields.Find("languages"), "cpp");
  const std::optional<YAML::Node> on = fields.Find("on");
  for (const char* key : {"server", "servers", "state", "certificates", "files", "copies", "client",
                          "clients", "steps"}) {
    fields.Find(key);
  }
  fields.Finish();
  if (!ours) return;
  if (IsFor(on, "fake")) plays.push_back(play);
  play.place = Place::kServer;
  if (IsFor(on, "server")) plays.push_back(play);
}

std::vector<Play> AllPlays() {
  std::vector<Play> plays;
  std::set<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(absl::StrCat(HEADGATE_SDK_TESTS, "/scenarios"))) {
    if (file.path().extension() != ".yaml") continue;
    for (const YAML::Node& node : YAML::LoadFile(file.path())) Append(node, names, plays);
  }
  return plays;
}

Complaints Result(const Play& play) {
  try {
    return Player(play.text, play.place).Play();
  } catch (const std::exception& wrong) {
    return {wrong.what()};
  }
}

TEST(Scenarios, AreAllAsTheySay) {
  const std::vector<Play> plays = AllPlays();
  EXPECT_GE(plays.size(), 80U);
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // guards what gtest is told
  std::vector<std::thread> players;
  for (int i = 0; i < kPlayers; ++i) {
    players.emplace_back([&] {
      // Relaxed: each has to get another one, nothing more.
      for (size_t mine; (mine = next.fetch_add(1, std::memory_order_relaxed)) < plays.size();) {
        const Play& play = plays[mine];
        const Complaints wrong = Result(play);
        const std::lock_guard lock(mutex);
        EXPECT_THAT(wrong, IsEmpty())
            << play.name << (play.place == Place::kFake ? " on the fake: " : " on a server: ")
            << play.claim << "\n"
            << absl::StrJoin(wrong, "\n  ");
      }
    });
  }
  for (std::thread& player : players) player.join();
}

// Else a scenario could not fail that has a mistake in it.
TEST(Scenarios, MayHaveNothingThatThisRunnerDoesNotKnow) {
  for (const std::string step :
       {"{fly: {}}", "{check: {}, stats: {}}", "{check: {wings: 1}}", "{}",
        "{check: {}, expect: {wings: 1}}", "{check: {}, expect: {retry_after: {least: 1s}}}",
        "{check: {max_wait: soon}}", "{fake: {wings: 1}}", "{fake: {deny: 1s, reason: WINGS}}",
        "{new_client: {wings: 1}}", "{server: fly}", "{join: nobody}"}) {
    const Play play{.name = "wrong",
                    .claim = "wrong",
                    .text = absl::StrCat("{name: wrong, claim: wrong, steps: [{fake: {deny: 1s}}, ",
                                         step, "]}"),
                    .place = Place::kFake};
    EXPECT_THAT(Result(play), testing::Not(IsEmpty())) << step;
  }
}

}  // namespace
}  // namespace headgate::client
