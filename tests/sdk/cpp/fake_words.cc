#include "tests/sdk/cpp/fake_words.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/sdk/cpp/enum_words.h"
#include "tests/sdk/cpp/fields.h"

namespace headgate::client {
namespace {

GrantedLease GrantIn(const YAML::Node& node) {
  Fields fields(node, "lease");
  GrantedLease lease{.amount = fields.Get<double>("amount", 0),
                     .time = fields.Duration("time").value_or(absl::Seconds(1)),
                     .largest_piece = fields.Maybe<double>("largest_piece"),
                     .reject_ratio = fields.Get<double>("reject_ratio", 0),
                     .one_at_a_time = fields.Get("one_at_a_time", false),
                     .safe_rate = fields.Get<double>("safe_rate", 0),
                     .safe_time = fields.Duration("safe_time").value_or(absl::ZeroDuration())};
  fields.Finish();
  return lease;
}

std::vector<Violation> ViolationsIn(const YAML::Node& node) {
  std::vector<Violation> violations;
  for (const YAML::Node& each : node) {
    Fields fields(each, "a violation");
    violations.push_back(
        {.budget = fields.Get<std::string>("budget", ""),
         .rule = fields.Get<std::string>("rule", ""),
         .limit_kind = Meaning(kLimitKinds, fields.Get<std::string>("limit_kind", "BURST")),
         .signal = fields.Get<std::string>("signal", ""),
         .warn = fields.Get("warn", false),
         .retry_after = fields.Duration("retry_after")});
    fields.Finish();
  }
  return violations;
}

// What the fake is to answer: one of allow, deny, deny_for_good and fail.
std::optional<absl::StatusOr<Answer>> AnswerIn(Fields& fields) {
  const auto reason = Meaning(kReasons, fields.Get<std::string>("reason", "CAPACITY"));
  const auto message = fields.Get<std::string>("message", "denied by the scenario");
  const auto retry_delay = fields.Duration("retry_delay");
  if (const auto allow = fields.Find("allow")) {
    Fields given(*allow, "allow");
    Answer answer{.verdict = Verdict::kAllowed,
                  .reason = Meaning(kReasons, given.Get<std::string>("reason", "NONE")),
                  .predicted_cost = given.Get<double>("predicted_cost", 0),
                  .predicted_busy_time = given.Duration("predicted_busy_time"),
                  .probe = given.Get("probe", false),
                  .message = given.Get<std::string>("message", ""),
                  .priority = given.Get("priority", 0),
                  .chunk_scale = given.Maybe<double>("chunk_scale")};
    if (const auto lease = given.Find("lease")) answer.lease = GrantIn(*lease);
    if (const auto warnings = given.Find("violations")) answer.violations = ViolationsIn(*warnings);
    given.Finish();
    return answer;
  }
  if (const auto deny = fields.Duration("deny")) {
    Answer denial{.reason = reason, .retry_after = deny, .message = message};
    if (const auto limits = fields.Find("violations")) denial.violations = ViolationsIn(*limits);
    return denial;
  }
  if (const auto for_good = fields.Maybe<std::string>("deny_for_good")) {
    return Answer{.reason = Meaning(kReasons, *for_good), .message = message};
  }
  if (const auto code = fields.Maybe<std::string>("fail")) {
    absl::Status failure(CodeOf(*code), message);
    if (retry_delay.has_value()) SetRetryDelay(*retry_delay, failure);
    return failure;
  }
  return std::nullopt;
}

void Script(FakeHeadgate& fake, const absl::StatusOr<Answer>& answer) {
  if (!answer.ok()) {
    fake.Fail(answer.status());
  } else if (answer->allowed()) {
    fake.Allow(*answer);
  } else if (answer->retry_after.has_value()) {
    fake.Deny(*answer->retry_after, answer->reason);
  } else {
    fake.DenyForGood(answer->reason);
  }
}

}  // namespace

void Instruct(const YAML::Node& words, FakeHeadgate& fake) {
  Fields fields(words, "fake");
  if (const auto waiting = fields.Maybe<std::string>("waiting")) {
    if (*waiting != "in_client" && *waiting != "in_server") {
      throw std::invalid_argument("nobody waits " + *waiting);
    }
    fake.SetWaiting(*waiting == "in_client" ? FakeHeadgate::Waiting::kInClient
                                            : FakeHeadgate::Waiting::kInServer);
  }
  if (const auto leases = fields.Maybe<bool>("knows_leases")) {
    fake.SetLeases(*leases ? FakeHeadgate::Leases::kGranted : FakeHeadgate::Leases::kUnknown);
  }
  if (const auto overruns = fields.Find("overruns")) {
    std::vector<Overrun> told;
    for (const YAML::Node& each : *overruns) {
      Fields overrun(each, "an overrun");
      told.push_back({.budget = overrun.Get<std::string>("budget", ""),
                      .reported = overrun.Get<double>("reported", 0),
                      .charged = overrun.Get<double>("charged", 0)});
      overrun.Finish();
    }
    fake.SetOverruns(std::move(told));
  }
  if (const auto unsettled = fields.Find("unsettled")) {
    fake.SetUnsettled(unsettled->as<std::vector<std::string>>());
  }
  if (const auto always = fields.Find("always")) {
    Fields given(*always, "always");
    const auto answer = AnswerIn(given);
    given.Finish();
    fake.SetHandler([answer](const CheckRequest&) { return answer.value(); });
  }
  const auto times = fields.Get("times", 1);
  const auto answer = AnswerIn(fields);
  fields.Finish();
  for (int i = 0; answer.has_value() && i < times; ++i) Script(fake, *answer);
}

}  // namespace headgate::client
