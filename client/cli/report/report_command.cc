// headgate report: what the work under a permit really took.

#include <headgate/v1/throttler_service.grpc.pb.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/field_words.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/table.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

// "rows: 500 of 1000000000000; pages: what was predicted".
std::string ChargedOnly(const v1::ReportResult& result) {
  std::string text;
  for (const v1::Overrun& overrun : result.overruns()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", overrun.budget(), ": ",
                    ShortNumber(overrun.charged()), " of ", ShortNumber(overrun.reported()));
  }
  for (const std::string& budget : result.unsettled()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", budget, ": what was predicted");
  }
  return text;
}

Table Outcome(const ReportArguments& arguments, const v1::ReportResult& result,
              std::vector<Column> columns) {
  Table table(std::move(columns));
  const bool failed = result.has_error();
  table.Add({{absl::StrCat(arguments.permit)},
             {failed ? "REFUSED" : Word(result.outcome()), failed ? Paint::kBad : Paint::kPlain},
             {InTheWordsOfOptions(result.error().message())},
             {ChargedOnly(result), Paint::kWarn}});
  return table;
}

}  // namespace

int RunReport(const Globals& globals, const ReportArguments& arguments, const Console& console) {
  v1::ReportRequest request;
  v1::PermitReport& report = *request.add_reports();
  report.set_permit_id(arguments.permit);
  if (arguments.actual_cost) report.set_actual_cost(*arguments.actual_cost);
  if (arguments.busy_time) SetDuration(*arguments.busy_time, *report.mutable_busy_time());
  const absl::StatusOr<v1::ReportResponse> response =
      Connection(globals).Call(&v1::ThrottlerService::Stub::Report, request);
  if (!response.ok()) return ToInt(console.Fail(response.status()));
  if (response->results_size() != 1) {
    return ToInt(console.Fail(absl::InternalError("the server did not answer one report once")));
  }
  const v1::ReportResult& result = response->results(0);
  const auto text = [&] {
    const bool says_what = !ChargedOnly(result).empty();
    return Outcome(
               arguments, result,
               Titles(says_what ? ">PERMIT,OUTCOME,ERROR,CHARGED ONLY" : ">PERMIT,OUTCOME,ERROR,"))
        .Text(console.colours);
  };
  console.Print(*response, text, [&] {
    return Outcome(arguments, result, Titles("permit_id,outcome,error,overruns"));
  });
  return ToInt(result.has_error() ? ExitStatus::kUsage : ExitStatus::kOk);
}

}  // namespace headgate::cli
