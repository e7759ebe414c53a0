// What the live view shows in a window: pure, frame by frame.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/top/held_back.h"
#include "client/cli/top/top_frame.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr Screen::Size kSmall = {.rows = 24, .columns = 80};

v1::LogSum Denied(const std::string& who, int64_t denied, const std::string& budget) {
  v1::LogSum sum;
  sum.set_identity(who);
  sum.set_target("orders");
  sum.set_denied(denied);
  sum.set_budget(budget);
  sum.set_reason(v1::REASON_CAPACITY);
  return sum;
}

void AddWaiter(v1::LineStatus& line, const std::string& who, int64_t seconds) {
  v1::LineWaiter& waiter = *line.add_next();
  waiter.set_identity(who);
  waiter.mutable_waited()->set_seconds(seconds);
  waiter.mutable_max_wait_left()->set_seconds(20);
}

v1::Override Order(int64_t id, v1::OverrideKind kind) {
  v1::Override order;
  order.set_id(id);
  order.set_kind(kind);
  order.set_actor("ann");
  order.set_reason("hammers the export");
  order.mutable_expires_at()->set_seconds(1'767'229'200);  // 2026-01-01 01:00
  return order;
}

// A gate that is shut, three who are held back, and an order about one of them.
TopAnswers Incident() {
  TopAnswers answers;
  answers.at = absl::FromUnixSeconds(1'767'225'600);
  answers.status.set_version("1.2.3");
  v1::TargetStatus& target = *answers.status.add_targets();
  target.set_name("orders");
  v1::SignalStatus& lag = *target.add_signals();
  lag.set_name("replication_lag_seconds on s1");
  lag.set_value(31);
  v1::SignalThresholds& limits = *lag.add_thresholds();
  limits.set_profile("standard");
  limits.set_hard(10);
  v1::Health& health = *target.add_profiles();
  health.set_profile("standard");
  health.set_state(v1::HEALTH_STATE_HEALTHY);
  health.set_signal(lag.name());
  health.set_pressure(3.1);
  v1::LineStatus& gate = *answers.lines.add_lines();
  gate.set_target("orders");
  gate.set_profile("standard");
  AddWaiter(gate, "aggregation:etl", 7);
  AddWaiter(gate, "aggregation:etl", 12);
  AddWaiter(gate, "invoices:etl", 3);
  answers.lines.set_waiting(5);
  *answers.denied.add_sums() = Denied("nightly-export:etl", 90, "etl");
  *answers.denied.add_sums() = Denied("nightly-export:etl", 10, "etl-per-tenant");
  *answers.denied.add_sums() = Denied("invoices:etl", 2, "etl");
  v1::LogSum& checks = *answers.checks.add_sums();
  checks.set_identity("nightly-export:etl");
  checks.set_target("orders");
  checks.set_allowed(1);
  checks.set_denied(100);
  v1::Override order = Order(7, v1::OVERRIDE_KIND_PAUSE);
  order.mutable_selector()->set_identity("nightly-export:etl");
  order.mutable_selector()->set_target("orders");
  *answers.overrides.add_overrides() = order;
  return answers;
}

std::vector<std::string> Frame(const TopAnswers& answers, Scroll& scroll, TopLook look = {},
                               Screen::Size size = kSmall, TopPage page = TopPage::kAnswers) {
  look.address = "gate:8081";
  return absl::StrSplit(
      FrameText({.answers = answers, .look = look, .page = page, .trouble = ""}, size, scroll),
      '\n');
}

std::vector<std::string> Frame(const TopAnswers& answers, TopLook look = {}) {
  Scroll scroll;
  return Frame(answers, scroll, look);
}

std::vector<std::string> Names(TopOrder order) {
  std::vector<std::string> names;
  for (const HeldBack& held : WhoIsHeldBack(Incident(), order)) names.push_back(held.identity);
  return names;
}

TEST(TopFrame, LeadsWithTheGateThatIsShutAndWhoIsHeldBackByWhat) {
  const std::vector<std::string> frame = Frame(Incident());
  EXPECT_EQ(frame[0], "headgated 1.2.3 at gate:8081  5 wait  00:00:00 UTC");
  EXPECT_EQ(frame[1],
            "GATE SHUT on orders: replication_lag_seconds on s1, 31 over hard 10 (profile sta");
  EXPECT_EQ(frame[3],
            "HELD BACK           BY                                WAIT  LONGEST  DENIED   OF");
  EXPECT_EQ(frame[4],
            "nightly-export:etl  budget etl                                          100  101");
  EXPECT_EQ(frame[5],
            "invoices:etl        the gate of health profile stan…     1       3s       2");
  EXPECT_EQ(frame[6], "aggregation:etl     the gate of health profile stan…     2      12s");
  EXPECT_EQ(frame[7], "and 2 more wait");
}

TEST(TopFrame, SaysNobodyIsHeldBackInSoManyWords) {
  EXPECT_THAT(Frame(TopAnswers()),
              Contains("nobody waits, and nobody was denied in the last 5 minutes"));
}

TEST(TopFrame, ShowsWhatIsInForceByWhomUntilWhenAndItsEnd) {
  const std::vector<std::string> frame = Frame(Incident());
  EXPECT_EQ(frame[9],
            "PAUSE nightly-export:etl on orders, until 2026-01-01 01:00:00, by ann: hammers t");
  EXPECT_EQ(frame[10], "  headgate overrides delete 7 --reason 'what has changed'");
}

TEST(TopFrame, PutsAnEmergencyStopBeforeOtherOrders) {
  TopAnswers answers = Incident();
  v1::Override stop = Order(8, v1::OVERRIDE_KIND_PAUSE);
  stop.mutable_selector()->set_everything(true);
  stop.mutable_selector()->set_target("orders");
  *answers.overrides.add_overrides() = stop;
  const std::vector<std::string> frame = Frame(answers);
  EXPECT_THAT(frame[9], StartsWith("PAUSE everything on orders, until 2026-01-01 01:00:00, by"));
  EXPECT_EQ(frame[10],
            "  headgate resume --everything --target orders --reason 'what has changed'");
  EXPECT_THAT(frame[11], StartsWith("PAUSE nightly-export:etl"));
}

// A shell takes it in two lines as in one.
TEST(TopFrame, BreaksACommandThatIsTooLongWhereAShellGoesOn) {
  const std::vector<std::string> frame =
      Frame(Incident(), {.connection = " --address headgate.internal.example.com:8081"});
  EXPECT_EQ(frame[10], "  headgate overrides delete 7 --reason 'what has changed' \\");
  EXPECT_EQ(frame[11], "    --address headgate.internal.example.com:8081");
}

TEST(TopFrame, LeavesOutOrdersOfOtherTargets) {
  EXPECT_THAT(Frame(Incident(), {.target = "billing"}),
              Not(Contains(HasSubstr("overrides delete 7"))));
}

TEST(TopFrame, SaysWhatCouldNotBeRead) {
  TopAnswers answers;
  answers.missing = {"who was denied: this caller may not read the log"};
  EXPECT_THAT(Frame(answers),
              Contains("not shown is who was denied: this caller may not read the log"));
}

TEST(TopFrame, TimesAreInTheZoneThatTheHeaderNames) {
  absl::TimeZone berlin;
  ASSERT_TRUE(absl::LoadTimeZone("Europe/Berlin", &berlin));
  const std::vector<std::string> frame = Frame(Incident(), {.zone = berlin});
  EXPECT_THAT(frame[0], EndsWith("01:00:00 Europe/Berlin (UTC+01:00)"));
  EXPECT_THAT(frame[9], HasSubstr("until 2026-01-01 02:00:00, by ann"));
}

// Names as long as names may be, in windows of any size.
TEST(TopFrame, NeverIsWiderOrLongerThanTheWindow) {
  TopAnswers answers = Incident();
  const std::string longest = absl::StrCat(std::string(120, 'x'), ":", std::string(120, 'y'));
  for (int i = 0; i < 40; ++i) {
    *answers.denied.add_sums() = Denied(absl::StrCat(i, longest), 1, longest);
    v1::BudgetStatus& budget = *answers.budgets.add_budgets();
    budget.set_budget(longest);
    budget.set_burst(1);
  }
  for (const Screen::Size size : {kSmall, Screen::Size{40, 200}, {3, 12}, {2, 1}, {1, 80}}) {
    Scroll scroll;
    const std::vector<std::string> frame = Frame(answers, scroll, {}, size);
    EXPECT_THAT(frame, SizeIs(size.rows));
    for (const std::string& line : frame) EXPECT_LE(DisplayWidth(line), size.columns) << line;
  }
}

TEST(TopFrame, ShortensNamesRatherThanCuttingColumnsOff) {
  TopAnswers answers;
  *answers.denied.add_sums() =
      Denied(absl::StrCat(std::string(90, 'x'), ":etl"), 7, std::string(90, 'b'));
  const std::vector<std::string> frame = Frame(answers);
  EXPECT_THAT(frame[2], AllOf(HasSubstr("x…:etl  budget bbb"), HasSubstr("b…"), EndsWith("7")));
}

TEST(TopFrame, FollowsAWindowThatGrowsAndShrinks) {
  const TopAnswers answers = Incident();
  Scroll scroll;
  Frame(answers, scroll, {}, {.rows = 5, .columns = 80});
  scroll.Take(Key::kEnd);
  EXPECT_THAT(Frame(answers, scroll, {}, {.rows = 5, .columns = 80}).back(),
              StartsWith("lines 18-20 of 20  by most denied  d w n sort  ? help  q quit"));
  const std::vector<std::string> grown = Frame(answers, scroll, {}, {.rows = 40, .columns = 80});
  EXPECT_EQ(scroll.first(), 0u);
  EXPECT_THAT(grown.back(), StartsWith("by most denied"));
}

TEST(TopFrame, HelpStandsInPlaceOfTheAnswers) {
  Scroll scroll;
  const std::vector<std::string> help = Frame(Incident(), scroll, {}, kSmall, TopPage::kHelp);
  EXPECT_THAT(help, AllOf(SizeIs(24), Contains(HasSubstr("d  most denied first")),
                          Contains("any key goes back"), Not(Contains(HasSubstr("GATE")))));
}

TEST(WhoIsHeldBack, ComesInTheOrderThatIsAskedFor) {
  EXPECT_THAT(Names(TopOrder::kDenied),
              ElementsAre("nightly-export:etl", "invoices:etl", "aggregation:etl"));
  EXPECT_THAT(Names(TopOrder::kWaited),
              ElementsAre("aggregation:etl", "invoices:etl", "nightly-export:etl"));
  EXPECT_THAT(Names(TopOrder::kName),
              ElementsAre("aggregation:etl", "invoices:etl", "nightly-export:etl"));
}

TEST(WhoIsHeldBack, IsToldByWhatDeniedMost) {
  const struct {
    v1::Reason reason;
    const char* budget;
    const char* rule;
    const char* signal;
    const char* by;
  } causes[] = {
      {v1::REASON_HEALTH, "", "", "replication_lag_seconds on s1", "replication_lag_seconds on s1"},
      {v1::REASON_HEALTH, "", "", "", "health"},
      {v1::REASON_DENY_RULE, "", "freeze", "", "rule freeze"},
      {v1::REASON_MAX_COST, "etl", "", "", "budget etl: max cost"},
      {v1::REASON_MAX_CONCURRENCY, "etl", "", "", "budget etl: permits"},
      {v1::REASON_CAPACITY, "etl", "", "lock_waiters", "budget etl, slowed by lock_waiters"},
  };
  for (const auto& cause : causes) {
    TopAnswers answers;
    v1::LogSum& sum = *answers.denied.add_sums();
    sum = Denied("job", 1, cause.budget);
    sum.set_reason(cause.reason);
    sum.set_rule(cause.rule);
    sum.set_signal(cause.signal);
    EXPECT_EQ(WhoIsHeldBack(answers, TopOrder::kName).at(0).by, cause.by);
  }
}

TEST(WhoIsHeldBack, IsToldByWhatDeniedLastWhereThatIsKnown) {
  TopAnswers answers;
  *answers.denied.add_sums() = Denied("job", 100, "etl");
  v1::Denial& newest = *answers.newest.add_denials();
  newest.set_identity("job");
  newest.set_target("orders");
  newest.set_outcome(v1::OUTCOME_DENIED);
  newest.mutable_cause()->set_reason(v1::REASON_DENY_RULE);
  newest.mutable_cause()->set_rule("override 4: paused by ann (stuck)");
  EXPECT_EQ(WhoIsHeldBack(answers, TopOrder::kName).at(0).by,
            "rule override 4: paused by ann (stuck)");
}

TEST(Scroll, MovesByLinesAndPagesAndStaysWithinTheList) {
  Scroll scroll;
  scroll.Fit(100, 20);
  const struct {
    Key key;
    size_t first;
  } steps[] = {{Key::kUp, 0},           {CharacterKey('j'), 1},  {Key::kDown, 2},
               {Key::kPageDown, 21},    {CharacterKey(' '), 40}, {CharacterKey('k'), 39},
               {Key::kPageUp, 20},      {CharacterKey('G'), 80}, {Key::kDown, 80},
               {CharacterKey('b'), 61}, {CharacterKey('g'), 0}};
  for (const auto& [key, first] : steps) {
    EXPECT_TRUE(scroll.Take(key));
    EXPECT_EQ(scroll.first(), first);
  }
  EXPECT_FALSE(scroll.Take(CharacterKey('x')));
  scroll.Fit(5, 20);
  EXPECT_EQ(scroll.end(), 5u);
}

TEST(KeyReader, TellsArrowsFromLettersHoweverTheBytesCome) {
  KeyReader keys;
  EXPECT_THAT(
      keys.Take("j\x1b[A\x1bOB\x1b[5~q"),
      ElementsAre(CharacterKey('j'), Key::kUp, Key::kDown, Key::kPageUp, CharacterKey('q')));
  EXPECT_THAT(keys.Take("\x1b["), SizeIs(0));
  EXPECT_THAT(keys.Take("6~"), ElementsAre(Key::kPageDown));
  EXPECT_THAT(keys.Take("\x1b[1;5Cq"), ElementsAre(Key::kUnknown, CharacterKey('q')));
  EXPECT_THAT(keys.Take("\x1bq"), ElementsAre(Key::kUnknown, CharacterKey('q')));
}

}  // namespace
}  // namespace headgate::cli
