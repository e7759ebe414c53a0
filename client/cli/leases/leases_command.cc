// headgate leases: who holds work that was charged in advance, how much, and until when.

#include <headgate/v1/status_service.grpc.pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/lease_text.h"
#include "client/cli/output/table.h"

namespace headgate::cli {
namespace {

constexpr int kMostHolders = 1000;
constexpr int kMostLeases = 100;

std::string LeasesText(const v1::ListLeasesResponse& leases, const LeasesArguments& arguments,
                       const Console& console) {
  if (leases.holders().empty()) {
    return arguments.identity.empty() ? "nobody holds leases\n" : "it holds no leases\n";
  }
  std::string text = Holders(leases.holders()).Text(console.colours);
  const int64_t left_out = leases.holders_in_all() - leases.holders_size();
  if (left_out > 0) absl::StrAppend(&text, "and ", left_out, " more hold leases\n");
  if (arguments.identity.empty()) return text;
  return absl::StrCat(text, "\n", HeldLeases(leases.holders()).Text(console.colours));
}

}  // namespace

int RunLeases(const Globals& globals, const LeasesArguments& arguments, const Console& console) {
  v1::ListLeasesRequest request;
  request.set_target(globals.target);
  request.set_identity(arguments.identity);
  request.set_page_size(kMostHolders);
  // Of one identity each of them is shown.
  request.set_leases(arguments.identity.empty() ? 1 : kMostLeases);
  const absl::StatusOr<v1::ListLeasesResponse> leases =
      Connection(globals).Call(&v1::StatusService::Stub::ListLeases, request);
  if (!leases.ok()) return ToInt(console.Fail(leases.status()));
  return console.Print(
      *leases, [&] { return LeasesText(*leases, arguments, console); },
      [&] { return LeasesCsv(leases->holders()); });
}

}  // namespace headgate::cli
