// headgate status: the server, its configuration, and the health of each target.

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/connection.h"
#include "client/cli/proto_text.h"
#include "client/cli/status_text.h"
#include "client/cli/text.h"
#include "client/cli/values.h"

namespace headgate::cli {
namespace {

std::string StatusText(const v1::GetStatusResponse& status, const std::string& address,
                       Colours colours) {
  std::string text = absl::StrCat("headgated ", Escaped(status.version()), " at ", address);
  if (status.has_started_at()) {
    absl::StrAppend(&text, ", started ", LocalTimeText(FromProto(status.started_at())));
  }
  absl::StrAppend(&text, "\n", ConfigText(status.config(), colours), "permits outstanding ",
                  status.permits_outstanding(), "; buckets owing ", status.buckets_owing(), " of ",
                  status.buckets_capacity(), ", evicted while owing ", status.live_evictions(),
                  "\n", ThrottleLogText(status.throttle_log(), colours),
                  OverridesText(status, colours), SnapshotText(status, colours),
                  TransportText(status, colours));
  for (const v1::TargetStatus& target : status.targets()) {
    const std::string name =
        target.name().empty() ? "target without a name" : absl::StrCat("target ", target.name());
    absl::StrAppend(&text, "\n", Painted(Escaped(name), Paint::kBold, colours), "\n");
    if (target.servers().empty()) absl::StrAppend(&text, "  nothing is measured\n");
    for (const Table& table :
         {Servers(target), Signals(target), Profiles(target), Controllers(target)}) {
      if (!table.empty()) absl::StrAppend(&text, table.Text(colours, "  "));
    }
  }
  return text;
}

}  // namespace

int RunStatus(const Globals& globals, const StatusArguments&, const Console& console) {
  Connection connection(globals);
  v1::GetStatusRequest request;
  request.set_target(globals.target);
  const absl::StatusOr<v1::GetStatusResponse> status = connection.GetStatus(request);
  if (!status.ok()) return ToInt(console.Fail(status.status()));
  switch (console.format) {
    case Format::kTable:
      console.out << StatusText(*status, connection.address(), console.colours);
      break;
    case Format::kJson:
      console.out << Json(*status);
      break;
    case Format::kCsv:
      console.out << StatusCsv(*status).Csv();
      break;
  }
  return ToInt(ExitStatus::kOk);
}

}  // namespace headgate::cli
