// headgate report: what the work under permits really cost.

#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/table.h"

namespace headgate::cli {
namespace {

// As many as one Report takes.
constexpr size_t kMaxReports = 1000;

// All results, as if the API took any number of reports at once.
absl::StatusOr<v1::ReportResponse> ReportAll(const Globals& globals,
                                             const ReportArguments& arguments) {
  Connection connection(globals);
  v1::ReportResponse all;
  const auto& reports = arguments.reports;
  for (size_t begin = 0; begin < reports.size(); begin += kMaxReports) {
    v1::ReportRequest request;
    for (size_t i = begin; i < std::min(reports.size(), begin + kMaxReports); ++i) {
      v1::PermitReport& report = *request.add_reports();
      report.set_permit_id(reports[i].permit);
      report.set_actual_cost(reports[i].cost);
    }
    const absl::StatusOr<v1::ReportResponse> response =
        connection.Call(&v1::ThrottlerService::Stub::Report, request);
    if (!response.ok()) return response.status();
    if (response->results_size() != request.reports_size()) {
      return absl::InternalError("the server answered another number of reports than were sent");
    }
    all.MergeFrom(*response);
  }
  return all;
}

Table Outcomes(const ReportArguments& arguments, const v1::ReportResponse& response,
               std::vector<Column> columns) {
  Table table(std::move(columns));
  for (size_t i = 0; i < arguments.reports.size(); ++i) {
    const v1::ReportResult& result = response.results(static_cast<int>(i));
    const bool failed = result.has_error();
    table.Add({{absl::StrCat(arguments.reports[i].permit)},
               {failed ? "REFUSED" : Word(result.outcome()), failed ? Paint::kBad : Paint::kPlain},
               {result.error().message()}});
  }
  return table;
}

}  // namespace

int RunReport(const Globals& globals, const ReportArguments& arguments, const Console& console) {
  const absl::StatusOr<v1::ReportResponse> response = ReportAll(globals, arguments);
  if (!response.ok()) return ToInt(console.Fail(response.status()));
  const auto text = [&] {
    return Outcomes(arguments, *response, {{"PERMIT", Align::kRight}, {"OUTCOME"}, {"ERROR"}})
        .Text(console.colours);
  };
  console.Print(*response, text, [&] {
    return Outcomes(arguments, *response, {{"permit_id"}, {"outcome"}, {"error"}});
  });
  const bool failed = std::any_of(response->results().begin(), response->results().end(),
                                  [](const v1::ReportResult& r) { return r.has_error(); });
  return ToInt(failed ? ExitStatus::kUsage : ExitStatus::kOk);
}

}  // namespace headgate::cli
