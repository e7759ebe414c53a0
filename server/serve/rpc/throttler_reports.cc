// Reports, and leases that are returned: each is settled by itself, and its error is said in its
// result. The pieces of a lease are counted when it is settled, so once; those that are told
// without a permit, or with one that is forgotten, once for each number of a message.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/lease_proto.h"
#include "server/serve/rpc/report_proto.h"
#include "server/serve/rpc/throttler.h"

namespace headgate::rpc {
namespace {

// Of pieces that nothing limits no tags are told.
using Tags = std::vector<std::pair<std::string_view, std::string_view>>;

absl::Status NotIssued(uint64_t permit) {
  return absl::NotFoundError(absl::StrCat("permit_id: ", permit, " was not issued by this server"));
}

}  // namespace

grpc::Status Throttler::Report(const v1::ReportRequest& request, const access::Asker& asker,
                               v1::ReportResponse& response) {
  const auto& reports = request.reports();
  if (reports.size() > kMaxInBatch) return TooMany("reports", reports.size());
  Resize(*response.mutable_results(), reports.size());
  const Now now = clock_.Read();
  for (int i = 0; i < reports.size(); ++i) {
    ReportOne(reports[i], {.asker = asker, .now = now, .place = i}, *response.mutable_results(i));
  }
  return grpc::Status();
}

void Throttler::ReportOne(const v1::PermitReport& report, const Reporting& by,
                          v1::ReportResult& result) {
  const absl::Status status =
      report.has_lease_use() ? SettleLease(report, by, result) : Settle(report, by, {}, result);
  if (status.ok()) [[likely]] {
    result.clear_error();
    return;
  }
  result.set_outcome(v1::REPORT_OUTCOME_UNSPECIFIED);
  result.clear_overruns();
  result.clear_unsettled();
  FillError(status, {.path = by.Path()}, *result.mutable_error());
}

std::string Throttler::Reporting::Path() const {
  if (check == nullptr) return absl::StrCat("reports[", place, "]");
  constexpr std::string_view kReturned = "lease.returned";
  if (place < 0) return std::string(kReturned);
  return absl::StrCat("checks[", place, "].", std::string(kReturned));
}

absl::Status Throttler::Settle(const v1::PermitReport& report, const Reporting& by,
                               uint64_t subject_key, v1::ReportResult& result) {
  if (report.permit_id() == 0) return absl::InvalidArgumentError("permit_id: is required");
  absl::StatusOr<engine::ActualCost> actual = ToActualCost(report);
  if (!actual.ok()) return actual.status();
  if (actual->spent.has_value()) actual->spent->subject_key = subject_key;
  const access::Asker& asker = by.asker;
  const engine::PermitId permit =
      asker.caller == nullptr ? report.permit_id() : asker.caller->seal().Open(report.permit_id());
  const absl::StatusOr<engine::Settlement> settled = engine_.Report(permit, *actual, by.now);
  if (settled.ok()) {
    FillReportResult(*settled, result);
    return absl::OkStatus();
  }
  if (!absl::IsNotFound(settled.status())) return settled.status();
  // Where others may have issued it, who asks them knows in the end.
  if (asker.caller != nullptr && !has_peers_ && asker.evidence->NameFromPeer() == nullptr) {
    access_.NoteForeignPermit(asker);
  }
  return NotIssued(report.permit_id());
}

absl::Status Throttler::SettleLease(const v1::PermitReport& report, const Reporting& by,
                                    v1::ReportResult& result) {
  const v1::LeaseUse& use = report.lease_use();
  engine::CheckRequest whose;
  if (by.check != nullptr) whose = *by.check;
  if (!use.identity().empty()) whose.identity = use.identity();
  if (!use.target().empty()) whose.target = use.target();
  const bool counts = use.counts_size() > 0;
  if (whose.identity.empty()) {
    if (counts) return absl::InvalidArgumentError("lease_use.identity: is required");
    return Settle(report, by, 0, result);
  }
  absl::StatusOr<engine::PieceSubject> subject = engine_.FindPieceSubject(whose, by.now);
  if (!subject.ok()) return subject.status();
  if (absl::Status valid = ValidateCounts(use); !valid.ok()) return valid;
  if (report.permit_id() != 0) {
    if (absl::Status settled = Settle(report, by, subject->key, result); !settled.ok()) {
      return settled;
    }
    // Who reported one that is forgotten now, or whether anybody did, only the message's number
    // tells.
    const bool may_be_new = result.outcome() == v1::REPORT_OUTCOME_FORGOTTEN && use.id() != 0;
    if (result.outcome() == v1::REPORT_OUTCOME_SETTLED) {
      if (counts) CountPieces(use, *subject, whose.identity, by.now);
      return absl::OkStatus();
    }
    if (!may_be_new) return absl::OkStatus();
  } else {
    // One that nothing limits has no permit: there is nothing to settle.
    result.set_outcome(v1::REPORT_OUTCOME_SETTLED);
  }
  // No permit says whose pieces they are.
  if (by.asker.caller != nullptr &&
      access_.MayCheck(by.asker, whose.identity, Tags()).has_value()) {
    return absl::PermissionDeniedError("lease_use.identity: may not be asked for");
  }
  if (counts) CountPieces(use, *subject, whose.identity, by.now);
  return absl::OkStatus();
}

void Throttler::CountPieces(const v1::LeaseUse& use, const engine::PieceSubject& subject,
                            std::string_view identity, Now now) {
  if (use.id() != 0 && !told_.IsNew(subject.key, use.id(), now)) return;
  for (const v1::PieceCount& count : use.counts()) {
    thread_counts_.RecordPieces({.subject = subject,
                                 .identity = identity,
                                 .cause = subject.CauseOf(ToPieceOutcome(count)),
                                 .pieces = count.pieces(),
                                 .cost = count.cost()});
  }
}

void Throttler::ReturnLease(const v1::CheckRequest& check, const Reporting& by,
                            v1::Decision& decision) {
  v1::Lease& lease = *decision.mutable_lease();
  if (check.lease().has_returned() && !IsWatch(check)) {
    ReportOne(check.lease().returned(), by, *lease.mutable_returned());
  } else {
    lease.clear_returned();
  }
}

void Throttler::ReturnLeases(const Chunk& chunk, Results& results) {
  for (int i = 0; i < chunk.count; ++i) {
    const int place = chunk.first + i;
    const v1::CheckRequest& check = chunk.checks[place];
    if (!check.has_lease() || RefusalOf(place) != nullptr) [[likely]]
      continue;
    ReturnLease(check,
                {.asker = chunk.asked.asker,
                 .now = chunk.asked.now,
                 .check = &requests_.all()[static_cast<size_t>(i)],
                 .place = place},
                *results.Mutable(place)->mutable_decision());
  }
}

}  // namespace headgate::rpc
