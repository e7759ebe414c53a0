// headgate status: the server, its configuration, and the health of each target.

#include <headgate/v1/status_service.grpc.pb.h>

#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/status/status_text.h"

namespace headgate::cli {

int RunStatus(const Globals& globals, const StatusArguments&, const Console& console) {
  Connection connection(globals);
  v1::GetStatusRequest request;
  request.set_target(globals.target);
  const absl::StatusOr<v1::GetStatusResponse> status =
      connection.Call(&v1::StatusService::Stub::GetStatus, request);
  if (!status.ok()) return ToInt(console.Fail(status.status()));
  return console.Print(
      *status,
      [&] { return StatusText(*status, connection.address(), console.zone, console.colours); },
      [&] { return StatusCsv(*status); });
}

}  // namespace headgate::cli
