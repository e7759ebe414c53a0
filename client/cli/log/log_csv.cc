#include "client/cli/log/log_csv.h"

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {

Table IntervalsCsv(const v1::ListThrottledIntervalsResponse& response) {
  Table table(
      Titles("from,to,identity,target,allowed,denied,denied_cost,reason,limit_kind,budget,rule,"
             "signal,denied_by_it,peak,limit,message,causes,waited_ratio,waits_began,waited_s,"
             "longest_wait_s,waited_for_it_s"));
  for (const v1::ThrottledInterval& interval : response.intervals()) {
    const bool known = !interval.causes().empty();
    const v1::DenialCause cause = known ? interval.causes(0) : v1::DenialCause();
    table.Add({{Rfc3339(true, interval.from())},
               {Rfc3339(true, interval.to())},
               {interval.identity()},
               {interval.target()},
               {absl::StrCat(interval.allowed())},
               {absl::StrCat(interval.denied())},
               {ExactNumber(interval.denied_cost())},
               {Word(cause.reason())},
               {known ? Word(cause.limit_kind()) : ""},
               {cause.budget()},
               {cause.rule()},
               {cause.signal()},
               {known ? absl::StrCat(cause.denied()) : ""},
               {known ? ExactNumber(cause.peak()) : ""},
               {known ? ExactNumber(cause.limit()) : ""},
               {interval.message()},
               {absl::StrCat(interval.causes_size())},
               {ExactNumber(interval.waited_ratio())},
               {absl::StrCat(interval.waiting().began())},
               {Seconds(interval.has_waiting(), interval.waiting().waited())},
               {Seconds(interval.has_waiting(), interval.waiting().longest())},
               {Seconds(cause.has_waiting(), cause.waiting().waited())}});
  }
  return table;
}

Table SumsCsv(const v1::QueryThrottleLogResponse& sums) {
  Table table(Titles(
      "from,identity,target,outcome,reason,budget,rule,signal,allowed,would_be_denied,"
      "denied,allowed_cost,denied_cost,folded,server,did_you_mean,waits_began,waits_admitted,"
      "waits_denied,waits_left,waited_s,held_s,longest_wait_s"));
  for (const v1::LogSum& sum : sums.sums()) {
    table.Add({{Rfc3339(sum.has_from(), sum.from())},
               {sum.identity()},
               {sum.target()},
               {Word(sum.outcome())},
               {Word(sum.reason())},
               {sum.budget()},
               {sum.rule()},
               {sum.signal()},
               {absl::StrCat(sum.allowed())},
               {absl::StrCat(sum.would_be_denied())},
               {absl::StrCat(sum.denied())},
               {ExactNumber(sum.allowed_cost())},
               {ExactNumber(sum.denied_cost())},
               {absl::StrCat(sum.folded())},
               {sum.server()},
               {sum.did_you_mean()},
               {absl::StrCat(sum.waiting().began())},
               {absl::StrCat(sum.waiting().admitted())},
               {absl::StrCat(sum.waiting().denied())},
               {absl::StrCat(sum.waiting().left())},
               {Seconds(sum.has_waiting(), sum.waiting().waited())},
               {Seconds(sum.has_waiting(), sum.waiting().held())},
               {Seconds(sum.has_waiting(), sum.waiting().longest())}});
  }
  return table;
}

Table DenialsCsv(const v1::ListDenialsResponse& response) {
  Table table(
      Titles("number,at,identity,target,outcome,predicted_cost,reason,limit_kind,budget,rule,"
             "signal,observed,limit,retry_after_s,priority"));
  for (const v1::Denial& denial : response.denials()) {
    const v1::DenialCause& cause = denial.cause();
    table.Add({{absl::StrCat(denial.number())},
               {Rfc3339(true, denial.at())},
               {denial.identity()},
               {denial.target()},
               {Word(denial.outcome())},
               {ExactNumber(denial.predicted_cost())},
               {Word(cause.reason())},
               {Word(cause.limit_kind())},
               {cause.budget()},
               {cause.rule()},
               {cause.signal()},
               {ExactNumber(cause.peak())},
               {ExactNumber(cause.limit())},
               {Seconds(denial.has_retry_after(), denial.retry_after())},
               {absl::StrCat(denial.priority())}});
  }
  return table;
}

}  // namespace headgate::cli
