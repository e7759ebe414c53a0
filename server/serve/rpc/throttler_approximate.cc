// Checks about targets that nobody decides for: answered by what this server may admit alone.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/decide/engine/lease_grant.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/lease_proto.h"
#include "server/serve/rpc/throttler.h"

namespace headgate::rpc {
namespace {

// One piece is decided, and is all that is granted. The lease before is its owner's to take back.
absl::Status BeginLease(const v1::CheckRequest& check, engine::CheckRequest& request,
                        v1::Decision& decision) {
  if (absl::Status valid = engine::ValidateLease(request); !valid.ok()) return valid;
  if (check.validate_only()) {
    return absl::InvalidArgumentError("lease: cannot be had with validate_only");
  }
  request.estimated_cost = request.lease->least;
  v1::Lease& lease = *decision.mutable_lease();
  lease.clear_returned();
  if (!check.lease().has_returned()) return absl::OkStatus();
  FillError(absl::UnavailableError("nobody decides for the target: report it later"),
            {.path = "lease.returned"}, *lease.mutable_returned()->mutable_error());
  return absl::OkStatus();
}

}  // namespace

absl::Status Throttler::DecideApproximately(const v1::CheckRequest& check, const Asker& asker,
                                            v1::Decision& decision) {
  requests_.Assign(check, FromAsker(asker));
  const absl::StatusOr<absl::Duration> max_wait = MaxWaitOf(check);
  if (!max_wait.ok()) return max_wait.status();
  engine::CheckRequest request = requests_.all()[0];
  if (request.IsWatch()) {
    return absl::UnavailableError("nobody decides for the target: watch again later");
  }
  if (check.has_lease()) {
    if (absl::Status valid = BeginLease(check, request, decision); !valid.ok()) return valid;
  }
  engine::CheckAnswer& answer = answers_[0];
  const Now now = clock_.Read();
  absl::Status status = engine_.CheckApproximately(
      {.request = request, .buckets = *approximate_, .only_asks = check.validate_only()}, now,
      answer);
  if (!status.ok()) return status;
  FillDecision(answer, check.identity(), decision);
  if (check.has_lease()) {
    answer.grant = {.amount = request.lease->least, .time = request.lease->life};
    FillLease(answer, *decision.mutable_lease());
    return absl::OkStatus();
  }
  decision.clear_lease();
  if (!check.validate_only()) thread_counts_.Record(request, answer, now);
  return absl::OkStatus();
}

grpc::Status Throttler::CheckApproximately(const v1::CheckRequest& check, const Asker& asker,
                                           v1::Decision& decision) {
  if (asker.caller != nullptr) {
    const auto refused = access_.MayCheck(asker, check.identity(), check.tags());
    if (refused.has_value()) return ToGrpcStatus(*refused);
  }
  const absl::Status status = DecideApproximately(check, asker, decision);
  return status.ok() ? grpc::Status() : ToGrpcStatus(status, {.tags = requests_.all()[0].tags});
}

grpc::Status Throttler::BatchCheckApproximately(const Checks& checks, const Asker& asker,
                                                Results& results) {
  results.Clear();
  FindRefused(checks, asker);
  for (int i = 0; i < checks.size(); ++i) {
    v1::CheckResult& result = *results.Add();
    const std::string path = absl::StrCat("checks[", i, "]");
    if (const access::Refusal* const refusal = RefusalOf(i); refusal != nullptr) {
      FillError(*refusal, path, *result.mutable_error());
      continue;
    }
    const absl::Status status = DecideApproximately(checks[i], asker, *result.mutable_decision());
    if (status.ok()) continue;
    FillError(status, {.path = path, .tags = requests_.all()[0].tags}, *result.mutable_error());
  }
  return grpc::Status();
}

}  // namespace headgate::rpc
