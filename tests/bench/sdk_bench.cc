// headgate-bench-sdk ADDRESS: what a permit of the C++ SDK takes beyond bare calls, and what a
// Check alone does; prints both ratios.
//
// Alternately the same number of permits, with all their reports delivered, and of pairs of bare
// calls, Check and then Report, over one channel each. Then Checks that no rule charges, after
// which there is nothing to report, and bare ones. Nobody waits. The median of the rounds' ratios
// counts. tests/bench/sdk has the same of the other SDKs, and runs all of them.

#include <grpcpp/grpcpp.h>
#include <headgate/client.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/median.h"

namespace headgate {
namespace {

using client::Client;
using client::OnUnreachable;

constexpr int kPairs = 1000;
constexpr int kRounds = 9;
constexpr char kCharged[] = "job:etl";
constexpr char kFree[] = "job:free";

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void Require(const grpc::Status& status) {
  if (!status.ok()) Fail(status.error_message());
}

// With what the SDK sends. Who is free has nothing to report.
absl::Duration Bare(v1::ThrottlerService::Stub& stub, const std::string& identity) {
  const absl::Time began = absl::Now();
  for (int i = 0; i < kPairs; ++i) {
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(5);
    v1::CheckRequest request;
    request.set_identity(identity);
    request.set_estimated_cost(1);
    request.set_pattern("copy");
    request.set_request_id(absl::StrCat(absl::Hex(absl::ToUnixNanos(began)), "-", absl::Hex(i)));
    v1::CheckResponse checked;
    grpc::ClientContext checking;
    checking.set_deadline(deadline);
    Require(stub.Check(&checking, request, &checked));
    if (!checked.decision().has_permit_id()) continue;
    v1::ReportRequest reports;
    reports.add_reports()->set_permit_id(checked.decision().permit_id());
    v1::ReportResponse reported;
    grpc::ClientContext reporting;
    reporting.set_deadline(deadline);
    Require(stub.Report(&reporting, reports, &reported));
  }
  return absl::Now() - began;
}

absl::Duration Permits(Client& client, const std::string& identity) {
  const absl::Time began = absl::Now();
  for (int i = 0; i < kPairs; ++i) {
    const auto permit = client.CheckOrWait(
        {.identity = identity, .estimated_cost = 1, .pattern = "copy"}, absl::ZeroDuration());
    if (!permit.ok()) Fail(permit.status().ToString());
  }
  if (!client.Flush(absl::Seconds(20))) Fail("not all reports were sent");
  return absl::Now() - began;
}

struct Ratios {
  double permit = 0;
  double check = 0;
};

double Ratio(Client& client, v1::ThrottlerService::Stub& stub, const std::string& identity) {
  std::vector<double> ratios;
  for (int round = 0; round <= kRounds; ++round) {
    const absl::Duration permits = Permits(client, identity);
    ratios.push_back(absl::FDivDuration(permits, Bare(stub, identity)));
  }
  ratios.erase(ratios.begin());  // the first round connects
  return Median(std::move(ratios));
}

Ratios Measure(const std::string& address) {
  const auto stub = v1::ThrottlerService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  const auto client = Client::Create({.address = address,
                                      .on_unreachable = OnUnreachable::Fail(),
                                      .check_deadline = absl::Seconds(5)});
  if (!client.ok()) Fail(client.status().ToString());
  const Ratios ratios = {.permit = Ratio(**client, *stub, kCharged),
                         .check = Ratio(**client, *stub, kFree)};
  if ((*client)->report_stats().delivered != kPairs * (kRounds + 1)) Fail("reports were lost");
  return ratios;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) {
  if (argc != 2) headgate::Fail("usage: headgate-bench-sdk ADDRESS");
  const headgate::Ratios ratios = headgate::Measure(argv[1]);
  std::printf("%.2f %.2f\n", ratios.permit, ratios.check);
}
