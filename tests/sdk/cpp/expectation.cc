#include "tests/sdk/cpp/expectation.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/sdk/cpp/enum_words.h"
#include "tests/sdk/cpp/fields.h"
#include "tests/sdk/cpp/leases.h"

namespace headgate::client {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A number, or a duration in seconds.
double NumberOf(const YAML::Node& node) {
  const auto text = node.as<std::string>();
  absl::Duration duration;
  if (text != "inf" && absl::ParseDuration(text, &duration)) {
    return absl::ToDoubleSeconds(duration);
  }
  return node.as<double>();
}

std::optional<double> Seconds(const std::optional<absl::Duration>& duration) {
  if (!duration.has_value()) return std::nullopt;
  return absl::ToDoubleSeconds(*duration);
}

std::string Text(const YAML::Node& node) { return YAML::Dump(node); }

}  // namespace

void CompareValue(const std::string& what, const YAML::Node& want, std::optional<double> got,
                  Complaints& complaints, bool judge_upper) {
  const bool absent = want.IsScalar() && want.as<std::string>() == "absent";
  if (absent || !got.has_value()) {
    if (absent == got.has_value()) {
      complaints.push_back(
          absl::StrCat(what, got.has_value() ? " is there" : " is absent", ", want ", Text(want)));
    }
    return;
  }
  double at_least = -kInfinity;
  double above = -kInfinity;
  double at_most = kInfinity;
  double below = kInfinity;
  if (want.IsScalar()) {
    const double exact = NumberOf(want);
    at_least = exact - std::abs(exact) * 1e-6;
    at_most = exact + std::abs(exact) * 1e-6;
  } else {
    Fields fields(want, what);
    if (const auto bound = fields.Find("at_least")) at_least = NumberOf(*bound);
    if (const auto bound = fields.Find("above")) above = NumberOf(*bound);
    if (const auto bound = fields.Find("at_most")) at_most = NumberOf(*bound);
    if (const auto bound = fields.Find("below")) below = NumberOf(*bound);
    fields.Finish();
  }
  const bool low = *got >= at_least && *got > above;
  const bool high = *got <= at_most && *got < below;
  if (!low || (judge_upper && !high)) {
    complaints.push_back(absl::StrCat(what, " is ", *got, ", want ", Text(want)));
  }
}

namespace {

class Comparison {
 public:
  Comparison(const Outcome& got, const PermitOf& permit_of, Place place)
      : got_(got), permit_of_(permit_of), place_(place) {}

  Complaints Run(const YAML::Node& want);

 private:
  void Say(const std::string& complaint) { complaints_.push_back(complaint); }
  void Value(const std::string& what, const YAML::Node& want, std::optional<double> got,
             bool judge_upper = true) {
    CompareValue(what, want, got, complaints_, judge_upper);
  }
  // The same of a time that passed really, unless this is the fake: then its upper bounds are not
  // judged, and the client and this runner read clocks of their own, which differ by microseconds.
  void Time(const std::string& what, const YAML::Node& want, std::optional<absl::Duration> got) {
    const bool real = place_ == Place::kServer;
    if (real && got.has_value()) *got += absl::Milliseconds(1);
    Value(what, want, Seconds(got), !real);
  }
  template <typename T>
  void Same(const std::string& what, const YAML::Node& want, const T& got) {
    if (want.as<T>() != got) Say(absl::StrCat(what, " is ", got, ", want ", Text(want)));
  }
  void Error(const std::string& want);
  // Whether the key is about that, and judged.
  bool OfAnswer(const std::string& key, const YAML::Node& want);
  bool OfTimes(const std::string& key, const YAML::Node& want);
  bool OfReports(const std::string& key, const YAML::Node& want);
  bool OfStats(const std::string& key, const YAML::Node& want);
  bool OfSeen(const std::string& key, const YAML::Node& want);
  void Message(const YAML::Node& want);
  void Violations(const YAML::Node& want);
  void OneViolation(const YAML::Node& want, const Violation& got);
  void HealthOf(const YAML::Node& want);
  void Overruns(const YAML::Node& want);
  void RequestIds(const std::string& want);
  void Sizes(const YAML::Node& want);
  void Reported(const YAML::Node& want);

  const Outcome& got_;
  const PermitOf& permit_of_;
  const Place place_;
  Complaints complaints_;
};

void Comparison::Error(const std::string& want) {
  const std::string error =
      got_.status.ok() ? "none" : absl::StatusCodeToString(got_.status.code());
  if (error != want) {
    Say(absl::StrCat("the error is ", got_.status.ToString(), ", want ", want));
  }
}

void Comparison::Message(const YAML::Node& want) {
  const std::string message = !got_.status.ok()         ? std::string(got_.status.message())
                              : got_.answer.has_value() ? got_.answer->message
                                                        : "";
  if (!absl::StrContains(message, want.as<std::string>())) {
    Say(absl::StrCat("the message is \"", message, "\", want in it ", Text(want)));
  }
}

void Comparison::OneViolation(const YAML::Node& want, const Violation& got) {
  Fields fields(want, "a violation");
  if (const auto node = fields.Find("budget")) Same("budget", *node, got.budget);
  if (const auto node = fields.Find("rule")) Same("rule", *node, got.rule);
  if (const auto node = fields.Find("level")) Same("level", *node, got.level);
  if (const auto node = fields.Find("signal")) Same("signal", *node, got.signal);
  if (const auto node = fields.Find("warn")) Same("warn", *node, got.warn);
  if (const auto node = fields.Find("unit")) Same("unit", *node, Word(kUnits, got.unit));
  if (const auto node = fields.Find("limit_kind")) {
    Same("limit_kind", *node, Word(kLimitKinds, got.limit_kind));
  }
  if (const auto node = fields.Find("observed")) Value("observed", *node, got.observed);
  if (const auto node = fields.Find("limit")) Value("limit", *node, got.limit);
  if (const auto node = fields.Find("retry_after")) {
    Value("retry_after of a violation", *node, Seconds(got.retry_after));
  }
  fields.Finish();
}

void Comparison::Violations(const YAML::Node& want) {
  const std::vector<Violation>& got = got_.answer->violations;
  if (want.size() != got.size()) {
    Say(absl::StrCat("there are ", got.size(), " violations, want ", want.size()));
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) OneViolation(want[i], got[i]);
}

void Comparison::HealthOf(const YAML::Node& want) {
  const std::optional<Health>& got = got_.answer->health;
  const bool absent = want.IsScalar() && want.as<std::string>() == "absent";
  if (absent == got.has_value()) {
    Say(absl::StrCat("its health is ", absent ? "there" : "absent"));
    return;
  }
  if (absent) return;
  Fields fields(want, "health");
  if (const auto node = fields.Find("profile")) Same("profile", *node, got->profile);
  if (const auto node = fields.Find("state")) {
    Same("state", *node, Word(kHealthStates, got->state));
  }
  if (const auto node = fields.Find("signal")) Same("signal", *node, got->signal);
  if (const auto node = fields.Find("speed")) Value("speed", *node, got->speed);
  fields.Finish();
}

bool Comparison::OfTimes(const std::string& key, const YAML::Node& want) {
  const Answer answer = got_.answer.value_or(Answer());
  if (key == "retry_after") {
    Value(key, want, Seconds(answer.retry_after));
  } else if (key == "waited" && !got_.seen.has_value()) {
    Time(key, want, answer.waited);
  } else if (key == "predicted_busy_time") {
    Value(key, want, Seconds(answer.predicted_busy_time));
  } else {
    return false;
  }
  return true;
}

bool Comparison::OfAnswer(const std::string& key, const YAML::Node& want) {
  static const auto* const kKeys = new std::set<std::string>{
      "allowed",           "local",       "probe",          "permit",   "same_permit_as", "reason",
      "other_permit_than", "chunk_scale", "predicted_cost", "priority", "violations",     "health"};
  if (kKeys->count(key) == 0) return false;
  if (!got_.answer.has_value()) {
    Say(absl::StrCat("there is no answer that could be ", key, ", but ", got_.status.ToString()));
    return true;
  }
  const Answer& answer = *got_.answer;
  if (key == "allowed") Same(key, want, answer.allowed());
  if (key == "local") Same(key, want, answer.local);
  if (key == "probe") Same(key, want, answer.probe);
  if (key == "permit") Same(key, want, answer.permit_id.has_value());
  if (key == "reason") Same(key, want, Word(kReasons, answer.reason));
  if (key == "chunk_scale") Value(key, want, answer.chunk_scale);
  if (key == "predicted_cost") Value(key, want, answer.predicted_cost);
  if (key == "priority") Value(key, want, answer.priority);
  if (key == "violations") Violations(want);
  if (key == "health") HealthOf(want);
  if (key == "same_permit_as" && permit_of_(want.as<std::string>()) != answer.permit_id) {
    Say(absl::StrCat("its permit is not that of ", Text(want)));
  }
  if (key == "other_permit_than" && permit_of_(want.as<std::string>()) == answer.permit_id) {
    Say(absl::StrCat("its permit is that of ", Text(want)));
  }
  return true;
}

void Comparison::Overruns(const YAML::Node& want) {
  const std::vector<Overrun>& got = got_.report->overruns;
  if (want.size() != got.size()) {
    Say(absl::StrCat("there are ", got.size(), " overruns, want ", want.size()));
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    Fields fields(want[i], "an overrun");
    if (const auto node = fields.Find("budget")) Same("budget", *node, got[i].budget);
    if (const auto node = fields.Find("reported")) Value("reported", *node, got[i].reported);
    if (const auto node = fields.Find("charged")) Value("charged", *node, got[i].charged);
    fields.Finish();
  }
}

bool Comparison::OfReports(const std::string& key, const YAML::Node& want) {
  if (key == "done" && got_.done.has_value()) {
    Same(key, want, *got_.done);
  } else if (key == "outcome" && got_.report.has_value()) {
    Same(key, want, Word(kOutcomes, got_.report->outcome));
  } else if (key == "overruns" && got_.report.has_value()) {
    Overruns(want);
  } else if (key == "unsettled_budgets" && got_.report.has_value()) {
    if (want.as<std::vector<std::string>>() != got_.report->unsettled) {
      Say(absl::StrCat("unsettled are ", absl::StrJoin(got_.report->unsettled, ", ")));
    }
  } else {
    return false;
  }
  return true;
}

bool Comparison::OfStats(const std::string& key, const YAML::Node& want) {
  if (!got_.stats.has_value()) return false;
  const ReportStats& stats = *got_.stats;
  const std::map<std::string, uint64_t> counts = {
      {"pending", stats.pending},    {"delivered", stats.delivered}, {"refused", stats.refused},
      {"failed", stats.failed},      {"dropped", stats.dropped},     {"overrun", stats.overrun},
      {"unsettled", stats.unsettled}};
  const auto count = counts.find(key);
  if (count == counts.end()) return false;
  Value(key, want, static_cast<double>(count->second));
  return true;
}

void Comparison::RequestIds(const std::string& want) {
  std::set<std::string> ids;
  for (const CheckRequest& check : got_.seen->checks) ids.insert(check.request_id);
  const size_t expected = want == "same" ? 1 : got_.seen->checks.size();
  if (want != "same" && want != "different") {
    throw std::invalid_argument(absl::StrCat("request ids that are ", want));
  }
  if (ids.size() != expected || ids.count("") > 0) {
    Say(absl::StrCat("there are ", ids.size(), " request ids, want ", expected, ", none empty"));
  }
}

void Comparison::Reported(const YAML::Node& want) {
  const std::vector<PermitReport>& got = got_.seen->reports;
  if (want.size() != got.size()) {
    Say(absl::StrCat("there are ", got.size(), " reports, want ", want.size()));
    return;
  }
  for (size_t i = 0; i < got.size(); ++i) {
    Fields fields(want[i], "a report");
    if (const auto node = fields.Find("actual_cost")) {
      Value("actual_cost", *node, got[i].done.actual_cost);
    }
    if (const auto node = fields.Find("busy_time")) {
      Value("busy_time", *node, Seconds(got[i].done.busy_time));
    }
    fields.Finish();
  }
}

bool Comparison::OfSeen(const std::string& key, const YAML::Node& want) {
  if (!got_.seen.has_value()) return false;
  const Seen& seen = *got_.seen;
  const auto each_check = [&](auto judge) {
    if (want.size() != seen.checks.size()) {
      Say(absl::StrCat(key, ": there are ", seen.checks.size(), " Checks, want ", want.size()));
      return;
    }
    for (size_t i = 0; i < seen.checks.size(); ++i) judge(want[i], seen.checks[i]);
  };
  if (key == "checks") {
    Value(key, want, static_cast<double>(seen.checks.size()));
  } else if (key == "reports") {
    Value(key, want, static_cast<double>(seen.reports.size()));
  } else if (key == "outstanding") {
    Value(key, want, static_cast<double>(seen.outstanding));
  } else if (key == "waited") {
    Value(key, want, Seconds(seen.waited));
  } else if (key == "request_ids") {
    RequestIds(want.as<std::string>());
  } else if (key == "reported") {
    Reported(want);
  } else if (key == "max_waits") {
    each_check([&](const YAML::Node& one, const CheckRequest& check) {
      Value("max_wait", one, Seconds(check.max_wait));
    });
  } else if (key == "identities") {
    each_check([&](const YAML::Node& one, const CheckRequest& check) {
      Same("identity", one, check.identity);
    });
  } else if (key == "targets") {
    each_check([&](const YAML::Node& one, const CheckRequest& check) {
      Same("target", one, check.target);
    });
  } else {
    return false;
  }
  return true;
}

void Comparison::Sizes(const YAML::Node& want) {
  if (want.as<std::vector<int64_t>>() == *got_.sizes) return;
  Say(absl::StrCat("chunks have ", absl::StrJoin(*got_.sizes, ", "), " rows"));
}

Complaints Comparison::Run(const YAML::Node& want) {
  if (!want.IsDefined()) {
    Error("none");
    if (got_.done == false) Say("it was not flushed in time");
    return complaints_;
  }
  Error(want["error"].IsDefined() ? want["error"].as<std::string>() : "none");
  for (const auto& field : want) {
    const auto key = field.first.as<std::string>();
    const YAML::Node& value = field.second;
    if (key == "error" || key == "allowed_count") continue;
    if (key == "message") {
      Message(value);
    } else if (key == "took") {
      Time(key, value, got_.took);
    } else if (key == "asked") {
      Same(key, value, got_.asked);
    } else if (key == "sizes" && got_.sizes.has_value()) {
      Sizes(value);
    } else if (key == "retry_delay") {
      Value(key, value, Seconds(RetryDelay(got_.status)));
    } else if (!OfLeases(key, value, got_, place_, complaints_) && !OfAnswer(key, value) &&
               !OfTimes(key, value) && !OfReports(key, value) && !OfStats(key, value) &&
               !OfSeen(key, value)) {
      throw std::invalid_argument(absl::StrCat("this runner expects no ", key, " of such a step"));
    }
  }
  return complaints_;
}

}  // namespace

Complaints Compare(const YAML::Node& want, const Outcome& got, const PermitOf& permit_of,
                   Place place) {
  return Comparison(got, permit_of, place).Run(want);
}

}  // namespace headgate::client
