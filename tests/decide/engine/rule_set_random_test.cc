// Random rule sets against the obvious way: look at every rule and every condition of it.

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "server/decide/engine/rule_set.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

struct RandomWho {
  std::string identity;
  std::vector<std::pair<std::string, std::string>> tags;
  std::optional<IpAddress> address;
  uint32_t target = 0;
  int64_t wall_ns = 0;
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // 0 to below - 1.
  int Below(int below) { return static_cast<int>(engine_() % static_cast<uint64_t>(below)); }
  bool OneIn(int n) { return Below(n) == 0; }

  std::string Segment() { return std::string(1, static_cast<char>('a' + Below(4))); }
  std::string Identity(int most) {
    std::vector<std::string> segments;
    for (int i = 1 + Below(most); i > 0; --i) segments.push_back(Segment());
    return absl::StrJoin(segments, ":");
  }
  std::vector<std::pair<std::string, std::string>> Tags(int most) {
    std::vector<std::pair<std::string, std::string>> tags;
    const int count = Below(most + 1);
    for (int i = 0; i < count; ++i) {
      tags.emplace_back(std::string(1, static_cast<char>('k' + i)), std::to_string(Below(3)));
    }
    return tags;
  }
  std::string Address() {
    return OneIn(3) ? "2001:db8:" + std::to_string(Below(3)) + "::" + std::to_string(1 + Below(3))
                    : "10." + std::to_string(Below(3)) + ".0." + std::to_string(Below(3));
  }
  std::string Prefix() {
    const IpAddress address = *IpAddress::Parse(Address());
    const int lengths[] = {0, 8, 16, 31, 32, 48, 64, 128};
    return IpPrefix::Of(address, std::min(lengths[Below(8)], address.bits())).ToString();
  }

 private:
  std::mt19937_64 engine_;
};

RuleSpec RandomRule(Random& random, size_t place) {
  RuleSpec rule = RuleOn("r" + std::to_string(place), "", DenyAction{});
  MatchSpec& match = rule.match;
  if (!random.OneIn(3)) match.identity = random.Identity(3);
  if (random.OneIn(3)) match.segment = random.Segment();
  if (random.OneIn(3)) match.tags = random.Tags(2);
  if (random.OneIn(3)) match.remote_address = random.Prefix();
  if (random.OneIn(5)) match.target = random.OneIn(2) ? "db1" : "db2";
  if (random.OneIn(5)) rule.expires_at = At(absl::Hours(random.Below(10))).wall();
  if (random.OneIn(5)) {
    match.schedule = ScheduleSpec{
        .windows = {{.days = 0b0001000, .start_minute = 60 * random.Below(10), .end_minute = 600}},
        .time_zone = "UTC"};
  }
  return rule;
}

bool Holds(const RuleSpec& rule, const PolicySpec& spec, const RandomWho& who) {
  const MatchSpec& match = rule.match;
  const std::string below = ":" + match.identity;
  if (!match.identity.empty() && who.identity != match.identity &&
      !(who.identity.size() > below.size() &&
        who.identity.substr(who.identity.size() - below.size()) == below)) {
    return false;
  }
  const std::vector<std::string> segments = absl::StrSplit(who.identity, ':');
  if (!match.segment.empty() &&
      std::find(segments.begin(), segments.end(), match.segment) == segments.end()) {
    return false;
  }
  for (const auto& tag : match.tags) {
    if (std::find(who.tags.begin(), who.tags.end(), tag) == who.tags.end()) return false;
  }
  if (!match.remote_address.empty() &&
      (!who.address.has_value() ||
       !IpPrefix::Parse(match.remote_address)->Contains(*who.address))) {
    return false;
  }
  if (!match.target.empty() && spec.targets[who.target].name != match.target) return false;
  const absl::Time wall = absl::FromUnixNanos(who.wall_ns);
  if (match.schedule.has_value() && !Schedule::Create(*match.schedule)->IsActive(wall))
    return false;
  return wall < rule.expires_at;
}

std::vector<uint32_t> Obviously(const PolicySpec& spec, const RandomWho& who) {
  std::vector<uint32_t> holding;
  int longest = -1;
  for (uint32_t i = 0; i < spec.rules.size(); ++i) {
    if (!Holds(spec.rules[i], spec, who)) continue;
    holding.push_back(i);
    const std::string& prefix = spec.rules[i].match.remote_address;
    if (!prefix.empty()) longest = std::max(longest, IpPrefix::Parse(prefix)->length());
  }
  std::erase_if(holding, [&](uint32_t i) {
    const std::string& prefix = spec.rules[i].match.remote_address;
    return !prefix.empty() && IpPrefix::Parse(prefix)->length() != longest;
  });
  return holding;
}

RandomWho AnyWho(Random& random) {
  RandomWho who;
  who.identity = random.Identity(5);
  who.tags = random.Tags(4);
  if (!random.OneIn(4)) who.address = *IpAddress::Parse(random.Address());
  who.target = static_cast<uint32_t>(random.Below(2));
  who.wall_ns = At(absl::Minutes(random.Below(12 * 60))).wall_ns;
  return who;
}

TEST(RuleSetRandom, FindsWhatLookingAtEveryRuleFinds) {
  Random random(2026);
  for (int round = 0; round < Scaled(200); ++round) {
    PolicySpec spec;
    spec.targets.resize(2);
    spec.targets[0].name = "db1";
    spec.targets[1].name = "db2";
    const int size = 1 + random.Below(60);
    while (spec.rules.size() < static_cast<size_t>(size)) {
      spec.rules.push_back(RandomRule(random, spec.rules.size()));
    }
    ASSERT_TRUE(Validate(spec).ok()) << Validate(spec);
    const uint64_t seed = static_cast<uint64_t>(round);
    const RuleSet rules = RuleSet::Compile(spec, seed);
    for (int i = 0; i < 100; ++i) {
      const RandomWho who = AnyWho(random);
      Identity identity;
      ASSERT_TRUE(Identity::Parse(who.identity, seed, identity).ok());
      std::vector<Tag> tags;
      for (const auto& [key, value] : who.tags) tags.push_back({key, value});
      const Subject subject{.identity = &identity,
                            .tags = tags,
                            .remote_address = who.address.has_value() ? &*who.address : nullptr,
                            .target = who.target,
                            .wall_ns = who.wall_ns};
      const std::vector<uint32_t> expected = Obviously(spec, who);
      ASSERT_EQ(rules.FindAll(subject), expected) << "round " << round << ": " << who.identity;
      Match match;
      rules.Find(subject, match);
      ASSERT_EQ(match.deny != kNoRule, !expected.empty());
    }
  }
}

}  // namespace
}  // namespace headgate::engine
