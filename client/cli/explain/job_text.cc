#include "client/cli/explain/job_text.h"

#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "common/shell_words.h"

namespace headgate::cli {
namespace {

std::vector<std::string> TagsOf(const v1::LastCheck& check) {
  std::vector<std::string> tags;
  tags.reserve(check.tags().size());
  // In the order of their names, whatever the message's is.
  const std::map<std::string, std::string> sorted(check.tags().begin(), check.tags().end());
  for (const auto& [key, value] : sorted) tags.push_back(absl::StrCat(key, "=", value));
  return tags;
}

Table LastChecks(const JobOfExplain& job) {
  Table table(Titles("ITS NEWEST CHECKS,>AGO,>COST,>PREDICTED,PATTERN,TAGS"));
  for (const v1::LastCheck& check : job.explanation.last_checks()) {
    std::string tags;
    for (const std::string& tag : TagsOf(check))
      absl::StrAppend(&tags, tags.empty() ? "" : " ", tag);
    table.Add({{Word(check.verdict()), PaintOf(check.verdict())},
               {ShortDuration(std::max(job.now - FromProto(check.at()), absl::ZeroDuration()))},
               {check.has_estimated_cost() ? ShortNumber(check.estimated_cost()) : "none given"},
               {ShortNumber(check.predicted_cost())},
               {check.pattern()},
               {tags}});
  }
  return table;
}

// Whether the newest Check asked for something else than this one does.
bool AsksOtherwise(const v1::LastCheck& last, const v1::CheckRequest& check) {
  if (last.has_estimated_cost() != check.has_estimated_cost()) return true;
  if (last.estimated_cost() != check.estimated_cost()) return true;
  if (last.pattern() != check.pattern() || last.tags_size() != check.tags_size()) return true;
  for (const auto& [key, value] : last.tags()) {
    const auto found = check.tags().find(key);
    if (found == check.tags().end() || found->second != value) return true;
  }
  return false;
}

// The command that explains the job's newest Check.
std::string AsItAsks(const JobOfExplain& job) {
  const v1::LastCheck& last = job.explanation.last_checks(0);
  std::vector<std::string> words = {"headgate", "explain", job.check.identity()};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (!job.check.target().empty()) add("--target", job.check.target());
  if (last.has_estimated_cost()) add("--cost", ExactNumber(last.estimated_cost()));
  if (!last.pattern().empty()) add("--pattern", last.pattern());
  for (const std::string& tag : TagsOf(last)) add("--tag", tag);
  return ShellLine(words);
}

std::string LastHourText(const v1::LogSum& sum, Colours colours) {
  const int64_t checks = Checks(sum);
  std::string text =
      absl::StrCat("in the last hour ", checks, checks == 1 ? " Check, " : " Checks, ");
  const std::string denied = absl::StrCat(sum.denied(), " denied");
  absl::StrAppend(&text, Painted(denied, PaintOfDenied(sum.denied(), checks), colours));
  if (checks > 0) absl::StrAppend(&text, " (", Percent(sum.denied(), checks), ")");
  if (sum.has_waiting()) {
    const absl::Duration waited = FromProto(sum.waiting().waited());
    absl::StrAppend(&text, "; ", ChecksThatWaited(sum.waiting()), " waited ",
                    ShortDuration(waited / ChecksThatWaited(sum.waiting())), " each");
  }
  return absl::StrCat(text, "\n");
}

}  // namespace

std::optional<v1::LogSum> FetchLastHour(Connection& connection, const v1::CheckRequest& check,
                                        absl::Time now) {
  v1::QueryThrottleLogRequest request;
  request.mutable_filter()->set_identity(check.identity());
  request.mutable_filter()->set_target(check.target());
  request.mutable_filter()->mutable_from()->set_seconds(absl::ToUnixSeconds(now - absl::Hours(1)));
  const auto sums = connection.Call(&v1::ThrottleLogService::Stub::QueryThrottleLog, request);
  if (!sums.ok() || sums->sums().empty()) return std::nullopt;
  return sums->sums(0);
}

std::string JobText(const JobOfExplain& job, Colours colours) {
  std::string text;
  for (const std::string& warning : job.explanation.warnings()) {
    absl::StrAppend(&text, Painted("not as the job asks:", Paint::kWarn, colours), " ",
                    Escaped(warning), "\n");
  }
  if (job.last_hour.has_value()) absl::StrAppend(&text, LastHourText(*job.last_hour, colours));
  const Table checks = LastChecks(job);
  if (!checks.empty()) absl::StrAppend(&text, "\n", checks.Text(colours));
  const bool is_otherwise = !job.explanation.last_checks().empty() &&
                            AsksOtherwise(job.explanation.last_checks(0), job.check);
  if (is_otherwise) absl::StrAppend(&text, "as it asks: ", Escaped(AsItAsks(job)), "\n");
  return text.empty() ? text : absl::StrCat("\n", text);
}

}  // namespace headgate::cli
