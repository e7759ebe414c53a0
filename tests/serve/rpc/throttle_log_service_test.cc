// ThrottleLogService: questions about the past, over gRPC.

#include "server/serve/rpc/throttle_log_service.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "server/govern/config/load.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/serve/rpc/waiting_store.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using throttle_log::Allowed;
using throttle_log::ByBurst;
using throttle_log::ByHealth;
using throttle_log::Denied;
using throttle_log::kDay;

constexpr int64_t At(int hours, int minutes, int seconds = 0) {
  return throttle_log::TimeOfDay(hours, minutes, seconds);
}

// A server with a throttle log, at noon of the first day of 2026.
class ThrottleLog : public ::testing::Test {
 protected:
  ThrottleLog() { server_.clock.Advance(absl::Hours(12)); }

  grpc::Status Query(const v1::QueryThrottleLogRequest& request) {
    return CallRpc(server_.channel, &v1::ThrottleLogService::Stub::QueryThrottleLog, request,
                   sums_);
  }
  grpc::Status Intervals(const v1::ListThrottledIntervalsRequest& request) {
    return CallRpc(server_.channel, &v1::ThrottleLogService::Stub::ListThrottledIntervals, request,
                   intervals_);
  }
  // "2a:etl": who was held back, and in which hour from.
  std::vector<std::string> AllPagesOf(v1::ListThrottledIntervalsRequest request) {
    std::vector<std::string> seen;
    do {
      EXPECT_TRUE(Intervals(request).ok());
      for (const auto& interval : intervals_.intervals()) {
        seen.push_back(
            absl::StrCat((interval.from().seconds() - kDay) / 3600, interval.identity()));
      }
      request.set_page_token(intervals_.next_page_token());
    } while (!request.page_token().empty());
    return seen;
  }
  grpc::Status Denials(const v1::ListDenialsRequest& request) {
    return CallRpc(server_.channel, &v1::ThrottleLogService::Stub::ListDenials, request, denials_);
  }
  grpc::Status Replay(const v1::ReplayThrottleLogRequest& request) {
    return CallRpc(server_.channel, &v1::ThrottleLogService::Stub::ReplayThrottleLog, request,
                   replayed_);
  }

  throttle_log::FakeStore store_;
  InProcessServer server_{OneBudget(RateBudget("rows", 10, 100)), {.log_store = &store_}};
  v1::QueryThrottleLogResponse sums_;
  v1::ListThrottledIntervalsResponse intervals_;
  v1::ListDenialsResponse denials_;
  v1::ReplayThrottleLogResponse replayed_;
};

template <typename Request>
Request OfTheDay() {
  Request request;
  request.mutable_filter()->mutable_from()->set_seconds(kDay);
  request.mutable_filter()->mutable_to()->set_seconds(kDay + 86'400);
  return request;
}

TEST_F(ThrottleLog, SumsUpTheLastHourUnlessToldOtherwise) {
  store_.Add(Allowed(At(10, 59, 50), "a:etl", 1));
  store_.Add(Allowed(At(11, 0), "a:etl", 2));
  store_.Add(Denied(At(12, 0), "a:etl", 4, ByBurst("rows"), 12.5));
  ASSERT_TRUE(Query({}).ok());
  ASSERT_EQ(sums_.sums_size(), 1);
  EXPECT_EQ(sums_.sums(0).allowed(), 2);
  EXPECT_EQ(sums_.sums(0).denied(), 4);
  EXPECT_EQ(sums_.sums(0).denied_cost(), 12.5);
  EXPECT_EQ(sums_.sums(0).identity(), "");
  EXPECT_FALSE(sums_.sums(0).has_from());
  EXPECT_EQ(sums_.sums(0).outcome(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(sums_.from().seconds(), At(11, 0));
  EXPECT_EQ(sums_.to().seconds(), At(12, 0, 10));
  EXPECT_EQ(sums_.next_page_token(), "");
}

TEST_F(ThrottleLog, SplitsAndFilters) {
  store_.Add(Allowed(At(7, 0), "x:daily:etl", 1));
  store_.Add(Denied(At(7, 0), "x:daily:etl", 2, ByHealth("lag_seconds on s1"), 5));
  store_.Add(Denied(At(7, 0, 10), "y:daily:etl", 3, ByHealth("lag_seconds on s2")));
  store_.Add(Denied(At(7, 0, 10), "z:report", 9, ByHealth("lag_seconds on s2")));
  store_.Add(Denied(At(7, 0, 10), "y:daily:etl", 9, ByBurst("rows")));
  auto request = OfTheDay<v1::QueryThrottleLogRequest>();
  request.mutable_filter()->set_identity("daily:etl");
  request.mutable_filter()->add_outcomes(v1::OUTCOME_DENIED);
  request.mutable_filter()->add_reasons(v1::REASON_HEALTH);
  request.mutable_filter()->add_signals("lag_seconds");
  for (auto group : {v1::LOG_GROUP_IDENTITY, v1::LOG_GROUP_OUTCOME, v1::LOG_GROUP_REASON,
                     v1::LOG_GROUP_SIGNAL, v1::LOG_GROUP_STEP, v1::LOG_GROUP_TARGET}) {
    request.add_group_by(group);
  }
  request.set_level(2);
  request.mutable_step()->set_seconds(20);
  ASSERT_TRUE(Query(request).ok());
  ASSERT_EQ(sums_.sums_size(), 2);
  EXPECT_EQ(sums_.sums(0).identity(), "daily:etl");
  EXPECT_EQ(sums_.sums(0).target(), "main");
  EXPECT_EQ(sums_.sums(0).from().seconds(), At(7, 0));
  EXPECT_EQ(sums_.sums(0).outcome(), v1::OUTCOME_DENIED);
  EXPECT_EQ(sums_.sums(0).reason(), v1::REASON_HEALTH);
  EXPECT_EQ(sums_.sums(0).signal(), "lag_seconds on s1");
  EXPECT_EQ(sums_.sums(0).denied(), 2);
  EXPECT_EQ(sums_.sums(1).signal(), "lag_seconds on s2");
  EXPECT_EQ(sums_.sums(1).denied(), 3);
}

TEST_F(ThrottleLog, TheMostDeniedOfManyAreThoseOfThisMomentToo) {
  for (int i = 0; i < 12; ++i) {
    store_.Add(Denied(At(11, 30), absl::StrCat("job-", i), 1, ByBurst("rows")));
    store_.Add(Denied(At(12, 0), absl::StrCat("job-", i), 10 + i, ByBurst("rows")));
  }
  v1::QueryThrottleLogRequest request;
  request.add_group_by(v1::LOG_GROUP_IDENTITY);
  request.set_order(v1::LOG_ORDER_MOST_DENIED);
  request.set_page_size(10);
  ASSERT_TRUE(Query(request).ok());
  ASSERT_EQ(sums_.sums_size(), 10);
  EXPECT_EQ(sums_.sums(0).identity(), "job-11");
  EXPECT_EQ(sums_.sums(0).denied(), 22);
  EXPECT_EQ(sums_.to().seconds(), At(12, 0, 10));
}

TEST_F(ThrottleLog, PagesOfSumsAgreeWhileRowsArrive) {
  for (int i = 0; i < 10; ++i) {
    store_.Add(Denied(At(11, 30), absl::StrCat("job-", i), 10 + i, ByBurst("rows")));
  }
  for (auto order : {v1::LOG_ORDER_UNSPECIFIED, v1::LOG_ORDER_MOST_DENIED}) {
    v1::QueryThrottleLogRequest request;
    request.add_group_by(v1::LOG_GROUP_IDENTITY);
    request.set_order(order);
    request.set_page_size(3);
    std::vector<std::string> seen;
    do {
      ASSERT_TRUE(Query(request).ok());
      for (const v1::LogSum& sum : sums_.sums()) seen.push_back(sum.identity());
      request.set_page_token(sums_.next_page_token());
      server_.clock.Advance(absl::Minutes(1));  // the period stays that of the first page
      const int64_t now_s = absl::ToUnixSeconds(server_.clock.Read().wall());
      store_.Add(Denied(now_s, "job-0", 1000, ByBurst("rows")));
    } while (!request.page_token().empty());
    ASSERT_EQ(seen.size(), 10);
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(seen[i], absl::StrCat("job-", i));
  }
}

TEST_F(ThrottleLog, PagesOfSumsGoOnToTheEndOfTheLastYear) {
  store_.Add(Allowed(At(7, 0), "a:etl", 1));
  store_.Add(Allowed(At(7, 0), "b:etl", 2));
  auto request = OfTheDay<v1::QueryThrottleLogRequest>();
  request.mutable_filter()->mutable_to()->set_seconds(253'402'300'799);  // of the year 9999
  request.mutable_filter()->mutable_to()->set_nanos(999'999'999);
  request.add_group_by(v1::LOG_GROUP_IDENTITY);
  request.set_page_size(1);
  ASSERT_TRUE(Query(request).ok());
  EXPECT_EQ(sums_.to().seconds(), 253'402'300'799);
  ASSERT_EQ(sums_.sums_size(), 1);
  request.set_page_token(sums_.next_page_token());
  ASSERT_TRUE(Query(request).ok());
  ASSERT_EQ(sums_.sums_size(), 1);
  EXPECT_EQ(sums_.sums(0).identity(), "b:etl");
}

TEST_F(ThrottleLog, ListsIntervalsWithTheirCausesAndASentence) {
  for (int64_t step_s = At(7, 0); step_s < At(7, 25); step_s += 10) {
    store_.Add(Allowed(step_s, "daily:etl", 1));
    store_.Add(throttle_log::Measured(
        Denied(step_s, "daily:etl", 19, ByHealth("replication_lag_seconds on standby-2"), 38),
        step_s == At(7, 10) ? 7.1 : 6, 5));
  }
  ASSERT_TRUE(Intervals(OfTheDay<v1::ListThrottledIntervalsRequest>()).ok());
  ASSERT_EQ(intervals_.intervals_size(), 1);
  const v1::ThrottledInterval& interval = intervals_.intervals(0);
  EXPECT_EQ(interval.identity(), "daily:etl");
  EXPECT_EQ(interval.target(), "main");
  EXPECT_EQ(interval.from().seconds(), At(7, 0));
  EXPECT_EQ(interval.to().seconds(), At(7, 25));
  EXPECT_EQ(interval.allowed(), 150);
  EXPECT_EQ(interval.denied(), 2850);
  EXPECT_EQ(interval.denied_cost(), 5700);
  ASSERT_EQ(interval.causes_size(), 1);
  EXPECT_EQ(interval.causes(0).reason(), v1::REASON_HEALTH);
  EXPECT_EQ(interval.causes(0).limit_kind(), v1::LIMIT_KIND_HEALTH);
  EXPECT_EQ(interval.causes(0).signal(), "replication_lag_seconds on standby-2");
  EXPECT_EQ(interval.causes(0).denied(), 2850);
  EXPECT_EQ(interval.causes(0).peak(), 7.1);
  EXPECT_EQ(interval.causes(0).limit(), 5);
  EXPECT_EQ(interval.message(),
            "07:00–07:25 UTC, 95 % denied (2,850 of 3,000), by replication_lag_seconds on "
            "standby-2, 7.1 s over hard 5 s");
}

TEST_F(ThrottleLog, PagesOfIntervalsGoOn) {
  for (int hour = 0; hour < 5; ++hour) {
    store_.Add(Denied(At(hour, 0), "a:etl", 1, ByBurst("rows")));
    store_.Add(Denied(At(hour, 0), "b:etl", 1, ByBurst("rows")));
  }
  auto request = OfTheDay<v1::ListThrottledIntervalsRequest>();
  request.set_page_size(3);
  EXPECT_THAT(AllPagesOf(request), ElementsAre("0a:etl", "0b:etl", "1a:etl", "1b:etl", "2a:etl",
                                               "2b:etl", "3a:etl", "3b:etl", "4a:etl", "4b:etl"));
}

TEST_F(ThrottleLog, PagesOfIntervalsGoOnFromTheNewest) {
  for (int hour = 0; hour < 3; ++hour) {
    store_.Add(Denied(At(hour, 0), "a:etl", 1, ByBurst("rows")));
    store_.Add(Denied(At(hour, 0), "b:etl", 1, ByBurst("rows")));
  }
  auto request = OfTheDay<v1::ListThrottledIntervalsRequest>();
  request.set_newest_first(true);
  request.set_page_size(1);
  EXPECT_THAT(AllPagesOf(request),
              ElementsAre("2a:etl", "2b:etl", "1a:etl", "1b:etl", "0a:etl", "0b:etl"));
}

TEST_F(ThrottleLog, ListsNoDenialsBeforeThereAreAny) {
  ASSERT_TRUE(Denials({}).ok());
  EXPECT_EQ(denials_.denials_size(), 0);
}

TEST_F(ThrottleLog, ListsSingleDenialsTheNewestFirst) {
  ASSERT_TRUE(
      server_.engine.Install(OneBudget(RateBudget("rows", 10, 100)), server_.clock.Read()).ok());
  throttle_log::ThreadCounts& counts = server_.recorder.AddThread();
  engine::CheckAnswer answer;
  for (const char* identity : {"a:etl", "b:etl", "c:report:etl"}) {
    const engine::CheckRequest request{.identity = identity, .estimated_cost = 101.5};
    ASSERT_TRUE(server_.engine.Check(request, server_.clock.Read(), answer).ok());
    counts.Record(request, answer, server_.clock.Read());
    server_.clock.Advance(absl::Seconds(1));
  }
  ASSERT_TRUE(Denials({}).ok());
  ASSERT_EQ(denials_.denials_size(), 3);
  const v1::Denial& first = denials_.denials(2);
  EXPECT_EQ(first.number(), 1);
  EXPECT_EQ(first.at().seconds(), At(12, 0));
  EXPECT_EQ(first.identity(), "a:etl");
  EXPECT_EQ(first.outcome(), v1::OUTCOME_DENIED);
  EXPECT_EQ(first.predicted_cost(), 101.5);
  EXPECT_EQ(first.cause().reason(), v1::REASON_CAPACITY);
  EXPECT_EQ(first.cause().limit_kind(), v1::LIMIT_KIND_BURST);
  EXPECT_EQ(first.cause().budget(), "rows");
  EXPECT_EQ(first.cause().denied(), 1);
  EXPECT_EQ(first.cause().peak(), 101.5);
  EXPECT_EQ(first.cause().limit(), 100);
  EXPECT_FALSE(first.has_retry_after());  // never at this cost
  EXPECT_EQ(denials_.denials(0).identity(), "c:report:etl");

  v1::ListDenialsRequest request;
  request.set_after(1);
  request.set_page_size(1);
  ASSERT_TRUE(Denials(request).ok());
  ASSERT_EQ(denials_.denials_size(), 1);
  EXPECT_EQ(denials_.denials(0).number(), 3);
  request.set_page_size(0);
  request.set_identity("b:etl");
  ASSERT_TRUE(Denials(request).ok());
  ASSERT_EQ(denials_.denials_size(), 1);
  EXPECT_EQ(denials_.denials(0).number(), 2);
  request.clear_identity();
  request.set_segment("report");
  ASSERT_TRUE(Denials(request).ok());
  ASSERT_EQ(denials_.denials_size(), 1);
  EXPECT_EQ(denials_.denials(0).number(), 3);
  request.set_target("elsewhere");
  ASSERT_TRUE(Denials(request).ok());
  EXPECT_EQ(denials_.denials_size(), 0);
}

TEST_F(ThrottleLog, ReplaysAgainstAnotherConfiguration) {
  for (int second = 0; second < 60; second += 10) {
    store_.Add(Allowed(At(11, 30, second), "a:etl", 10, 100));
    store_.Add(Denied(At(11, 30, second), "a:etl", 10, ByBurst("rows"), 100));
  }
  v1::ReplayThrottleLogRequest request;
  request.set_config_yaml(R"(
targets: [{name: main}]
budgets: [{name: rows, rate: 1000, burst: 1000}]
rules: [{name: charge, match: {identity: etl}, charge: [rows]}]
)");
  const grpc::Status status = Replay(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(replayed_.identities_size(), 1);
  EXPECT_EQ(replayed_.identities(0).identity(), "a:etl");
  EXPECT_EQ(replayed_.identities(0).target(), "main");
  EXPECT_EQ(replayed_.identities(0).allowed_before(), 60);
  EXPECT_EQ(replayed_.identities(0).denied_before(), 60);
  EXPECT_EQ(replayed_.identities(0).allowed_after(), 120);
  EXPECT_EQ(replayed_.identities(0).denied_after(), 0);
  EXPECT_EQ(replayed_.identities(0).allowed_cost_before(), 600);
  EXPECT_EQ(replayed_.identities(0).allowed_cost_after(), 1200);
  EXPECT_THAT(replayed_.caveats(), Contains(HasSubstr("steps of 10 s")));
  EXPECT_EQ(replayed_.from().seconds(), At(11, 0));
  EXPECT_EQ(replayed_.to().seconds(), At(12, 0, 10));
}

// Identities are case-sensitive: whoever spells one otherwise is limited by nothing.
TEST(ThrottleLogUnmatched, SaysWhichRuleWouldMatchIfCapitalsDidNotCount) {
  const auto config = std::make_shared<const config::Config>(
      *config::Parse("rules: [{name: r, match: {identity: etl}, deny: true}]", "f.yaml").config);
  throttle_log::FakeStore store;
  for (const char* who : {"a:ETL", "a:report"}) {
    throttle_log::Row row = Allowed(At(11, 30), who, 3);
    row.key.cause.reason = engine::Reason::kUnmatched;
    store.Add(row);
  }
  InProcessServer server(OneBudget(RateBudget("rows", 10, 100)),
                         {.log_store = &store, .in_force = [config] { return config; }});
  server.clock.Advance(absl::Hours(12));
  v1::QueryThrottleLogRequest request;
  request.add_group_by(v1::LOG_GROUP_IDENTITY);
  v1::QueryThrottleLogResponse sums;
  const auto meant = [&] {
    EXPECT_TRUE(
        CallRpc(server.channel, &v1::ThrottleLogService::Stub::QueryThrottleLog, request, sums)
            .ok());
    std::vector<std::string> all;
    for (const v1::LogSum& sum : sums.sums()) {
      all.push_back(absl::StrCat(sum.identity(), "=", sum.did_you_mean()));
    }
    return all;
  };
  // What else came of them is not known then.
  EXPECT_THAT(meant(), ElementsAre("a:ETL=", "a:report="));
  request.mutable_filter()->add_reasons(v1::REASON_UNMATCHED);
  EXPECT_THAT(meant(), ElementsAre("a:ETL=a:etl", "a:report="));
  request.set_level(1);
  EXPECT_THAT(meant(), ElementsAre("ETL=etl", "report="));
  request.clear_group_by();
  EXPECT_THAT(meant(), ElementsAre("="));
}

TEST(ThrottleLogBaseline, AReplayOfTheConfigurationInForceIsItsOwnBaseline) {
  const std::string yaml = R"(
targets: [{name: main}]
budgets: [{name: rows, rate: 1, burst: 10}]
rules: [{name: charge, match: {identity: etl}, charge: [rows]}]
)";
  throttle_log::FakeStore store;
  store.Add(Allowed(At(11, 30), "a:etl", 30, 30));
  store.Add(Denied(At(11, 30), "b:etl", 5, ByBurst("rows"), 5));
  const auto config = std::make_shared<const config::Config>(*config::Parse(yaml, "f.yaml").config);
  InProcessServer server(OneBudget(RateBudget("rows", 10, 100)),
                         {.log_store = &store, .in_force = [config] { return config; }});
  server.clock.Advance(absl::Hours(12));
  v1::ReplayThrottleLogRequest request;
  request.set_config_yaml(yaml);
  v1::ReplayThrottleLogResponse replayed;
  ASSERT_TRUE(
      CallRpc(server.channel, &v1::ThrottleLogService::Stub::ReplayThrottleLog, request, replayed)
          .ok());
  ASSERT_EQ(replayed.identities_size(), 2);
  int64_t denied = 0;
  for (const v1::ReplayedIdentity& identity : replayed.identities()) {
    EXPECT_TRUE(identity.has_denied_in_force());
    EXPECT_EQ(identity.denied_after(), identity.denied_in_force());
    EXPECT_EQ(identity.allowed_after(), identity.allowed_in_force());
    EXPECT_EQ(identity.allowed_cost_after(), identity.allowed_cost_in_force());
    denied += identity.denied_after() - identity.denied_before();
  }
  EXPECT_GT(denied, 0);  // the replay is not what happened
}

TEST_F(ThrottleLog, SaysAllThatIsWrongWithAConfiguration) {
  v1::ReplayThrottleLogRequest request;
  request.set_config_yaml("budgts: []\nrules: [{name: r, match: {}, budgets: [nowhere]}]\n");
  const grpc::Status status = Replay(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("config_yaml: line 1, column 1: "));
  EXPECT_THAT(status.error_message(), HasSubstr("\nline 2, column "));
  EXPECT_THAT(DetailsOf(status).fields, ElementsAre("config_yaml"));
}

// A few kilobytes of text, and gigabytes of buckets.
TEST_F(ThrottleLog, RefusesAConfigurationThatIsMoreThanItsTextSays) {
  const auto replay = [this](int targets, int budgets) {
    std::string yaml = "targets:\n";
    for (int i = 0; i < targets; ++i) absl::StrAppend(&yaml, "  - {name: t", i, "}\n");
    absl::StrAppend(&yaml, "budgets:\n");
    for (int i = 0; i < budgets; ++i) {
      absl::StrAppend(&yaml, "  - {name: b", i, ", rate: 1, burst: 1}\n");
    }
    v1::ReplayThrottleLogRequest request;
    request.set_config_yaml(yaml);
    return Replay(request);
  };
  // The profile that every target has counts as well.
  const grpc::Status status = replay(1000, 101);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr(" for each of 1000 targets; at most 100000 in all "));
  EXPECT_THAT(DetailsOf(status).fields, ElementsAre("config_yaml"));
  const grpc::Status fits = replay(1000, 90);
  EXPECT_TRUE(fits.ok()) << fits.error_message();
}

TEST_F(ThrottleLog, CutsAListOfFindingsThatIsTooLongForAnError) {
  v1::ReplayThrottleLogRequest request;
  std::string yaml;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&yaml, "no_such_key_", i, ": 1\n");
  request.set_config_yaml(yaml);
  const grpc::Status status = Replay(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ::testing::ContainsRegex("\nand [0-9]+ more$"));
  EXPECT_LT(status.error_message().size(), 1600);
}

// What is refused, and which field is to blame.
template <typename Request>
struct Refused {
  const char* field;
  std::function<void(Request&)> spoil;
};

TEST_F(ThrottleLog, NamesTheFieldThatIsWrongInAQuery) {
  using Request = v1::QueryThrottleLogRequest;
  const std::vector<Refused<Request>> cases = {
      {"filter.identity", [](auto& r) { r.mutable_filter()->set_identity("a::b"); }},
      {"filter.segment", [](auto& r) { r.mutable_filter()->set_segment("a:b"); }},
      {"filter.from", [](auto& r) { *r.mutable_filter()->mutable_from() = r.filter().to(); }},
      {"filter.from", [](auto& r) { r.mutable_filter()->mutable_from()->set_seconds(-1); }},
      {"filter.to", [](auto& r) { r.mutable_filter()->mutable_to()->set_nanos(-1); }},
      {"filter.outcomes[0]", [](auto& r) { r.mutable_filter()->add_outcomes({}); }},
      {"filter.reasons[0]",
       [](auto& r) { r.mutable_filter()->add_reasons(static_cast<v1::Reason>(99)); }},
      {"filter.budgets[1]",
       [](auto& r) {
         r.mutable_filter()->add_budgets("b");
         r.mutable_filter()->add_budgets("");
       }},
      {"filter.signals",
       [](auto& r) {
         for (int i = 0; i < 101; ++i) r.mutable_filter()->add_signals("s");
       }},
      {"group_by[0]", [](auto& r) { r.add_group_by(v1::LOG_GROUP_UNSPECIFIED); }},
      {"level", [](auto& r) { r.set_level(9); }},
      {"step", [](auto& r) { r.mutable_step()->set_seconds(15); }},
      {"step", [](auto& r) { r.mutable_step()->set_seconds(0); }},
      {"order", [](auto& r) { r.set_order(static_cast<v1::LogOrder>(7)); }},
      {"page_size", [](auto& r) { r.set_page_size(10'001); }},
      {"page_size", [](auto& r) { r.set_page_size(-1); }},
      {"page_token", [](auto& r) { r.set_page_token("nonsense"); }},
      {"page_token", [](auto& r) { r.set_page_token("AAAA"); }},
  };
  for (const auto& [field, spoil] : cases) {
    auto request = OfTheDay<Request>();
    spoil(request);
    const grpc::Status status = Query(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << field;
    EXPECT_THAT(DetailsOf(status).fields, ElementsAre(field));
  }
}

TEST_F(ThrottleLog, NamesTheFieldThatIsWrongInOtherRequests) {
  using IntervalsRequest = v1::ListThrottledIntervalsRequest;
  const std::vector<Refused<IntervalsRequest>> intervals = {
      {"min_denied_ratio", [](auto& r) { r.set_min_denied_ratio(0); }},
      {"min_denied_ratio", [](auto& r) { r.set_min_denied_ratio(1.01); }},
      {"min_denied_ratio", [](auto& r) { r.set_min_denied_ratio(NAN); }},
      {"max_gap", [](auto& r) { r.mutable_max_gap()->set_seconds(-1); }},
      {"level", [](auto& r) { r.set_level(-1); }},
      {"page_size", [](auto& r) { r.set_page_size(1001); }},
      {"page_token", [](auto& r) { r.set_page_token("?"); }},
  };
  for (const auto& [field, spoil] : intervals) {
    auto request = OfTheDay<IntervalsRequest>();
    spoil(request);
    EXPECT_THAT(DetailsOf(Intervals(request)).fields, ElementsAre(field));
  }
  v1::ListDenialsRequest denials;
  denials.set_after(-1);
  EXPECT_THAT(DetailsOf(Denials(denials)).fields, ElementsAre("after"));
  denials.set_identity("not an identity");
  EXPECT_THAT(DetailsOf(Denials(denials)).fields, ElementsAre("identity"));
  denials.clear_identity();
  denials.set_segment("a:b");
  EXPECT_THAT(DetailsOf(Denials(denials)).fields, ElementsAre("segment"));
  auto replay = OfTheDay<v1::ReplayThrottleLogRequest>();
  replay.mutable_filter()->add_budgets("rows");
  EXPECT_THAT(DetailsOf(Replay(replay)).fields, ElementsAre("filter.budgets"));
  replay = OfTheDay<v1::ReplayThrottleLogRequest>();
  replay.mutable_filter()->mutable_from()->set_seconds(kDay - 7 * 86'400);
  EXPECT_THAT(DetailsOf(Replay(replay)).fields, ElementsAre("filter.from"));
  replay.set_config_yaml(std::string((1 << 20) + 1, ' '));
  EXPECT_THAT(DetailsOf(Replay(replay)).fields, ElementsAre("config_yaml"));
}

// A configuration without any limit, on purpose.
v1::ReplayThrottleLogRequest OfNothing() {
  v1::ReplayThrottleLogRequest request;
  request.set_config_yaml("{}");
  return request;
}

TEST_F(ThrottleLog, IsUnavailableWhileItsStoreIs) {
  store_.Fail(absl::DataLossError("file is not a database"));
  for (const grpc::Status& status : {Query({}), Intervals({}), Replay(OfNothing())}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(status.error_message(), "the throttle log cannot be read: file is not a database");
    EXPECT_EQ(DetailsOf(status).reason, "THROTTLE_LOG_STORE");
    EXPECT_TRUE(DetailsOf(status).retry);
  }
}

TEST_F(ThrottleLog, RefusesToReplayTooMuch) {
  store_.Add(Allowed(At(11, 30), "a:etl", 100'000'001));
  const grpc::Status status = Replay(OfNothing());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "more than 100000000 Checks to replay: narrow it down");
  EXPECT_FALSE(DetailsOf(status).retry);
}

TEST(ThrottleLogReplay, RunsOneAtATime) {
  WaitingStore store;
  InProcessServer server(OneBudget(RateBudget("rows", 10, 100)), {.log_store = &store});
  const auto replay = [&server] {
    return CallRpc(server.channel, &v1::ThrottleLogService::Stub::ReplayThrottleLog, OfNothing());
  };
  grpc::Status first;
  std::thread caller([&] { first = replay(); });
  store.AwaitScan();
  const grpc::Status second = replay();
  EXPECT_EQ(second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(second).reason, "REPLAY_RUNNING");
  EXPECT_TRUE(DetailsOf(second).retry);
  store.GoOn();
  caller.join();
  EXPECT_TRUE(first.ok()) << first.error_message();
  EXPECT_TRUE(replay().ok());
}

TEST(GetStatusOfTheThrottleLog, SaysWhatIsWrittenAndWhatIsNot) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.status.throttle_log = {.store = "sqlite",
                                .status = absl::ResourceExhaustedError("disk is full"),
                                .rows_written = 1,
                                .rows_buffered = 2,
                                .dropped_checks = 3,
                                .folded_checks = 4,
                                .bytes = 5,
                                .oldest = absl::FromUnixSeconds(6)};
  v1::GetStatusResponse response;
  ASSERT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  const v1::ThrottleLogStatus& log = response.throttle_log();
  EXPECT_EQ(log.store(), "sqlite");
  EXPECT_EQ(log.error(), "disk is full");
  EXPECT_EQ(log.rows_written(), 1);
  EXPECT_EQ(log.rows_buffered(), 2);
  EXPECT_EQ(log.dropped_checks(), 3);
  EXPECT_EQ(log.folded_checks(), 4);
  EXPECT_EQ(log.bytes(), 5);
  EXPECT_EQ(log.oldest().seconds(), 6);
}

}  // namespace
}  // namespace headgate::rpc
