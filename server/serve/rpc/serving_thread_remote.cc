// What a serving thread hands to other servers: the Checks of targets that they decide for, and the
// reports of permits that they issued.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/strings.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/gathered_call.h"
#include "server/serve/rpc/kept_evidence.h"
#include "server/serve/rpc/serving_thread.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

// Of the Checks that are handed to another server together, and of any valid one: so that whatever
// callers send, what servers send each other is no larger than they read.
constexpr size_t kMaxPartBytes = size_t{64} << 10;

grpc::Status NoRoom() {
  return transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for an answer");
}

RemoteDecider::Caller CallerOf(const access::Asker& asker, const access::Evidence& call) {
  const access::Caller* const caller = asker.caller;
  const bool is_named = caller != nullptr && !caller->is_anybody();
  return {.name = is_named ? std::string_view(caller->name()) : std::string_view(),
          .peer = call.Peer()};
}

bool IsUnknownPermit(const v1::ReportResult& result) {
  return result.error().code() == static_cast<int>(grpc::StatusCode::NOT_FOUND);
}

// Reports that were asked of all other servers: who reports what nobody has issued is counted.
class CountedReports final : public transport::ParkedCall<v1::ReportResponse> {
 public:
  CountedReports(std::shared_ptr<transport::ParkedCall<v1::ReportResponse>> parked,
                 access::AccessControl& access, const access::Evidence& call)
      : ParkedCall(parked->time_left_ns()),
        parked_(std::move(parked)),
        access_(access),
        call_(call) {}

  bool Answer(const grpc::Status& status, v1::ReportResponse& response) override {
    access::Asker asker;
    if (status.ok() && !access_.Identify(call_, asker).has_value()) {
      for (const v1::ReportResult& result : response.results()) {
        if (IsUnknownPermit(result)) access_.NoteForeignPermit(asker);
      }
    }
    return parked_->Answer(status, response);
  }

 private:
  const std::shared_ptr<transport::ParkedCall<v1::ReportResponse>> parked_;
  access::AccessControl& access_;
  const KeptEvidence call_;
};

class CountedParking final : public transport::Parking<v1::ReportResponse> {
 public:
  CountedParking(transport::Parking<v1::ReportResponse>& parking, access::AccessControl& access,
                 const access::Evidence& call)
      : parking_(parking), access_(access), call_(call) {}

  std::shared_ptr<transport::ParkedCall<v1::ReportResponse>> Park(
      std::shared_ptr<transport::ParkListener> listener) override {
    auto parked = parking_.Park(std::move(listener));
    if (parked == nullptr) return nullptr;
    return std::make_shared<CountedReports>(std::move(parked), access_, call_);
  }

 private:
  transport::Parking<v1::ReportResponse>& parking_;
  access::AccessControl& access_;
  const access::Evidence& call_;
};

}  // namespace

grpc::Status ServingThread::CheckRemotely(const access::Evidence& call,
                                          const v1::CheckRequest& check,
                                          transport::Parking<v1::CheckResponse>& parking) {
  access::Asker asker;
  grpc::Status known = Identify(access_, call, asker);
  return known.ok() ? remote_decider_->Check(check, CallerOf(asker, call), parking) : known;
}

bool ServingThread::DecidesAllHere(const Throttler::Checks& checks) const {
  // Too many are refused here, whatever they are about.
  if (checks.size() > kMaxInBatch) return true;
  const std::string* before = nullptr;
  for (const v1::CheckRequest& check : checks) {
    if (before != nullptr && *before == check.target()) continue;
    before = &check.target();
    if (!remote_decider_->DecidesHere(*before)) return false;
  }
  return true;
}

template <typename Response>
grpc::Status ServingThread::SplitBatchCheck(const access::Evidence& call,
                                            const Throttler::Checks& checks,
                                            transport::Parking<Response>& parking) {
  using Whole = GatheredCall<Response, v1::BatchCheckResponse>;
  struct Some {
    std::vector<int> places;
    v1::BatchCheckRequest batch;
    size_t bytes = 0;
    void Add(int place, v1::CheckRequest check) {
      places.push_back(place);
      bytes += check.ByteSizeLong();
      *batch.add_checks() = std::move(check);
    }
  };
  access::Asker asker;
  if (grpc::Status known = Identify(access_, call, asker); !known.ok()) return known;
  const RemoteDecider::Caller caller = CallerOf(asker, call);
  Some here;
  absl::flat_hash_map<std::string, std::vector<Some>> remote;
  for (int i = 0; i < checks.size(); ++i) {
    v1::CheckRequest check = checks[i];
    check.DiscardUnknownFields();
    const bool is_invalid = check.ByteSizeLong() > kMaxPartBytes;  // anybody can say so
    const auto known = remote.find(check.target());
    if (is_invalid || (known == remote.end() && remote_decider_->DecidesHere(check.target()))) {
      here.Add(i, std::move(check));
      continue;
    }
    std::vector<Some>& parts = remote[check.target()];
    if (parts.empty() || parts.back().bytes + check.ByteSizeLong() > kMaxPartBytes) {
      parts.emplace_back();
    }
    parts.back().Add(i, std::move(check));
  }
  auto whole = std::make_shared<Whole>("checks", PartError::kIsOfItems);
  if (!whole->Park(parking, checks.size())) return NoRoom();
  v1::BatchCheckResponse response;
  for (auto& [target, parts] : remote) {
    for (Some& some : parts) {
      GatheredPart part(*whole, std::move(some.places));
      part.End(remote_decider_->BatchCheck(some.batch, caller, part), response);
    }
  }
  if (!here.places.empty()) {
    GatheredPart part(*whole, std::move(here.places));
    part.End(BatchCheckHere(call, here.batch.checks(), response, part), response);
  }
  whole->AllAreHandedOut();
  return grpc::Status();
}

template grpc::Status ServingThread::SplitBatchCheck(const access::Evidence&,
                                                     const Throttler::Checks&,
                                                     transport::Parking<v1::BatchCheckResponse>&);
template grpc::Status ServingThread::SplitBatchCheck(const access::Evidence&,
                                                     const Throttler::Checks&,
                                                     transport::Parking<v1::CheckStreamResponse>&);

grpc::Status ServingThread::ReportRemotely(const access::Evidence& call,
                                           const v1::ReportRequest& request,
                                           const v1::ReportResponse& here,
                                           transport::Parking<v1::ReportResponse>& parking) {
  v1::ReportRequest unknown;
  std::vector<int> places;
  for (int i = 0; i < here.results_size(); ++i) {
    if (!IsUnknownPermit(here.results(i))) continue;
    places.push_back(i);
    *unknown.add_reports() = request.reports(i);
  }
  if (places.empty()) return grpc::Status();
  access::Asker asker;
  if (grpc::Status known = Identify(access_, call, asker); !known.ok()) return known;
  const RemoteDecider::Caller caller = CallerOf(asker, call);
  auto whole = std::make_shared<GatheredCall<v1::ReportResponse, v1::ReportResponse>>(
      "reports", PartError::kIsOfCall);
  if (!whole->Park(parking, here.results_size())) return NoRoom();
  for (int i = 0; i < here.results_size(); ++i) whole->Set(i, here.results(i));
  GatheredPart part(*whole, std::move(places));
  CountedParking counted(part, access_, call);
  v1::ReportResponse nothing;
  part.End(remote_decider_->Report(unknown, caller, counted), nothing);
  whole->AllAreHandedOut();
  return grpc::Status();
}

}  // namespace headgate::rpc
