// Any bytes as Checks, batches, Reports and questions why: from the wire, through protobuf, to a
// real engine and back. Whatever comes, an answer is complete, an error names its field, a budget
// is never overdrawn, and asking twice with one request_id is asking once.
//
// The first byte chooses the RPC; the rest is its message.
#include <google/protobuf/stubs/logging.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/fake_clock.h"
#include "server/decide/engine/engine.h"
#include "server/govern/config/load.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/serve/rpc/throttler.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/wire.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/rpc_status.h"
#include "tests/testing/quiet_dependencies.h"

namespace {

using headgate::fuzz::Require;
using headgate::fuzz::RequireAnswerable;
using namespace headgate::rpc;  // NOLINT(google-build-using-namespace): all that is examined
namespace transport = headgate::transport;
namespace v1 = headgate::v1;

constexpr double kBurst = 1000;
constexpr char kPolicy[] = R"yaml(
targets: [{name: orders}, {name: billing}]
budgets:
  - {name: rows, rate: 100, burst: 1000, max_cost: 600, default_cost: 5}
  - {name: jobs, rate: 10, burst: 400, split: {depth: 2}, max_concurrency: 3, max_buckets: 64}
  - {name: teams, rate: 10, burst: 300, split: {tag: team}, mode: WARN, max_buckets: 64}
rules:
  - {name: etl, match: {identity: etl}, charge: [rows, jobs]}
  - {name: teams, match: {segment: team}, charge: [teams]}
  - {name: urgent, match: {tags: {urgent: "true"}}, exempt: true}
  - {name: never, match: {identity: banned}, deny: true}
  - {name: seldom, match: {identity: dice}, reject_ratio: 0.5}
  - {name: near, match: {remote_address: 10.0.0.0/8}, charge: [rows]}
)yaml";

const headgate::engine::PolicySpec& Policy() {
  static const auto* const policy = [] {
    auto loaded = headgate::config::Parse(kPolicy, "policy");
    Require(loaded.config.has_value(), loaded.status().ToString());
    return new headgate::engine::PolicySpec(std::move(loaded.config->policy));
  }();
  return *policy;
}

void RequireDecision(const v1::Decision& decision, bool validate_only) {
  const bool allowed = decision.verdict() == v1::VERDICT_ALLOWED;
  Require(allowed || decision.verdict() == v1::VERDICT_DENIED, "no verdict");
  Require(!decision.message().empty(), "no sentence");
  Require(std::isfinite(decision.predicted_cost()) && decision.predicted_cost() >= 0, "no cost");
  Require(!decision.has_permit_id() || (allowed && !validate_only && decision.permit_id() != 0),
          "a permit for nothing");
  if (decision.has_retry_after()) {
    const auto& after = decision.retry_after();
    Require(!allowed && (after.seconds() > 0 || after.nanos() > 0), "no time to wait for");
  }
  bool refused = false;
  for (const v1::Violation& violation : decision.violations()) refused |= !violation.warn();
  Require(refused != allowed, "the verdict and the limits disagree");
}

// What one caller meets: an engine of its own for each input, so that an input that fails does so
// alone.
class Server {
 public:
  Server() {
    const absl::Status installed = engine_.Install(Policy(), clock_.Read());
    Require(installed.ok(), installed.ToString());
  }

  void Check(const v1::CheckRequest& check) {
    v1::Decision decision;
    const grpc::Status status = throttler_.Check(check, peer_, decision, call_);
    RequireAnswerable(status, *v1::CheckRequest::descriptor());
    if (!status.ok()) return;
    RequireDecision(decision, check.validate_only());
    if (check.request_id().empty() || !decision.has_permit_id()) return;
    v1::Decision again;
    Require(throttler_.Check(check, peer_, again, call_).ok() &&
                again.permit_id() == decision.permit_id() &&
                again.predicted_cost() == decision.predicted_cost(),
            "the same request_id, another answer");
  }

  template <typename Request>
  void Batch(const Request& request) {
    Throttler::Results results;
    const grpc::Status status = throttler_.BatchCheck(request.checks(), peer_, results, call_);
    RequireAnswerable(status, *Request::descriptor());
    if (!status.ok()) return;
    Require(results.size() == request.checks_size(), "as many answers as Checks");
    for (int i = 0; i < results.size(); ++i) {
      const v1::CheckResult& result = results[i];
      if (result.has_error()) {
        RequireError(result.error(), absl::StrCat("checks[", i, "]"), *Request::descriptor());
      } else {
        Require(result.has_decision(), "neither a decision nor an error");
        RequireDecision(result.decision(), request.checks(i).validate_only());
      }
    }
  }

  // Small numbers stand for permits that were issued, which no input could guess.
  void Report(v1::ReportRequest request) {
    const std::vector<uint64_t> permits = Permits();
    for (v1::PermitReport& report : *request.mutable_reports()) {
      if (report.permit_id() - 1 < permits.size()) {
        report.set_permit_id(permits[report.permit_id() - 1]);
      }
    }
    v1::ReportResponse response;
    const grpc::Status status = throttler_.Report(request, {}, response);
    RequireAnswerable(status, *v1::ReportRequest::descriptor());
    if (!status.ok()) return;
    Require(response.results_size() == request.reports_size(), "as many results as reports");
    for (int i = 0; i < response.results_size(); ++i) {
      const v1::ReportResult& result = response.results(i);
      Require(result.has_error() == (result.outcome() == v1::REPORT_OUTCOME_UNSPECIFIED),
              "settled and an error, or neither");
      if (result.has_error()) {
        RequireError(result.error(), absl::StrCat("reports[", i, "]"),
                     *v1::ReportRequest::descriptor());
      }
    }
  }

  void Explain(const v1::ExplainRequest& request) {
    v1::ExplainResponse response;
    Asker asker;
    asker.address = &address_;
    const grpc::Status status = Throttler::Explain(quiet_.all, request, asker, response);
    RequireAnswerable(status, *v1::ExplainRequest::descriptor());
    v1::ExplainResponse again;
    Require(Throttler::Explain(quiet_.all, request, asker, again).ok() == status.ok() &&
                again.SerializeAsString() == response.SerializeAsString(),
            "explained twice, two answers");
    if (!status.ok()) return;
    RequireDecision(response.decision(), /*validate_only=*/true);
    Require(response.rules_size() == response.matched_rules_size(), "rules are missing");
    Require((response.decision().verdict() == v1::VERDICT_DENIED) ==
                (response.to_be_allowed_size() > 0),
            "what would have to change");
  }

  void RequireNotOverdrawn() {
    for (const auto& view : engine_.ReadBudgets(clock_.Read())) {
      Require(view.budget != "rows" || view.debt <= kBurst * (1 + 1e-9), "debt ", view.debt);
    }
  }

 private:
  static headgate::engine::EngineOptions Small() {
    return {.seed = 7, .max_permits = 64, .max_patterns = 64, .bucket_bytes = size_t{1} << 20};
  }

  static void RequireError(const v1::Error& error, const std::string& path,
                           const google::protobuf::Descriptor& request) {
    Require(error.code() != 0 && !error.message().empty(), "an error that says nothing");
    Require(error.message().size() <= 1600, "an error of ", error.message().size(), " bytes");
    if (error.field().empty()) return;
    Require(error.field().starts_with(path), "of another item: ", error.field());
    Require(headgate::fuzz::IsFieldOf(error.field(), &request), "no field: ", error.field());
  }

  std::vector<uint64_t> Permits() {
    std::vector<uint64_t> permits;
    for (const char* identity : {"a:etl", "b:etl", "c:etl"}) {
      v1::CheckRequest check;
      check.set_identity(identity);
      check.set_target("orders");
      check.set_estimated_cost(10);
      v1::Decision decision;
      Require(throttler_.Check(check, {}, decision, call_).ok() && decision.has_permit_id(),
              "no permit for ", identity);
      permits.push_back(decision.permit_id());
    }
    return permits;
  }

  headgate::FakeClock clock_;
  headgate::engine::Engine engine_{Small()};
  headgate::rpc::QuietDependencies quiet_{engine_, clock_};
  const headgate::engine::IpAddress address_ = *headgate::engine::IpAddress::Parse("10.1.2.3");
  const headgate::rpc::Asker peer_{{}, &address_};
  Throttler throttler_{quiet_.all};
  CallThatCannotWait call_;
};

// As a message arrives; absent if the bytes are none, which has to be said as well.
template <typename Message>
bool Arrives(std::string_view bytes, transport::Decoded<Message>& request) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  grpc::ByteBuffer buffer(&slice, 1);
  request.Decode(buffer);
  if (!request.complete()) {
    const grpc::Status status = request.Error();
    RequireAnswerable(status, *Message::descriptor());
    Require(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT, "no bad request");
  }
  return request.complete();
}

template <typename Message, typename Use>
void With(std::string_view bytes, Use use) {
  transport::Decoded<Message> request;
  if (!Arrives(bytes, request)) return;
  Server server;
  use(server, request.message);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);  // a line for each string that is not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      With<v1::CheckRequest>(bytes, [](Server& server, const auto& request) {
        server.Check(request);
        server.RequireNotOverdrawn();
      });
      break;
    case 1:
      With<v1::BatchCheckRequest>(bytes, [](Server& server, const auto& request) {
        server.Batch(request);
        server.RequireNotOverdrawn();
      });
      break;
    case 2:
      With<v1::CheckStreamRequest>(bytes, [](Server& server, const auto& request) {
        server.Batch(request);
        server.Batch(request);  // the next message on the stream
        server.RequireNotOverdrawn();
      });
      break;
    case 3:  // what a job reports may overdraw a budget: the work is done
      With<v1::ReportRequest>(bytes,
                              [](auto& server, const auto& request) { server.Report(request); });
      break;
    default:
      With<v1::ExplainRequest>(bytes,
                               [](auto& server, const auto& request) { server.Explain(request); });
  }
  return 0;
}
