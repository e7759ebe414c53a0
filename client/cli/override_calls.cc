#include "client/cli/override_calls.h"

#include <utility>

#include "client/cli/connection.h"

namespace headgate::cli {
namespace {

using Stub = v1::OverrideService::Stub;

constexpr int kPageSize = 1000;

}  // namespace

bool IsOn(const v1::Override& override, const std::string& target) {
  const std::string& its = override.selector().target();
  return target.empty() || its.empty() || its == target;
}

OverrideCalls::OverrideCalls(const Globals& globals)
    : globals_(globals), stub_(v1::OverrideService::NewStub(OpenChannel(globals))) {}

template <typename Response, typename Request>
absl::StatusOr<Response> OverrideCalls::Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                          const Request&,
                                                                          Response*),
                                             const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context, globals_.timeout);
  Response response;
  const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
  if (status.ok()) return response;
  return WithTlsReason(FromCall(status, WithPort(globals_.address), globals_.timeout), globals_);
}

absl::StatusOr<v1::CreateOverrideResponse> OverrideCalls::Create(
    const v1::CreateOverrideRequest& request) {
  return Call(&Stub::CreateOverride, request);
}

absl::StatusOr<v1::DeleteOverrideResponse> OverrideCalls::Delete(
    const v1::DeleteOverrideRequest& request) {
  return Call(&Stub::DeleteOverride, request);
}

absl::StatusOr<v1::ListOverridesResponse> OverrideCalls::List(v1::ListOverridesRequest request) {
  v1::ListOverridesResponse all;
  request.set_page_size(kPageSize);
  for (;;) {
    absl::StatusOr<v1::ListOverridesResponse> page = Call(&Stub::ListOverrides, request);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    page->clear_next_page_token();
    all.MergeFrom(*page);
    if (request.page_token().empty()) return all;
  }
}

absl::StatusOr<v1::ListOverrideEventsResponse> OverrideCalls::Events(
    v1::ListOverrideEventsRequest request, const std::string& target, int most) {
  v1::ListOverrideEventsResponse all;
  for (;;) {
    request.set_page_size(kPageSize);
    absl::StatusOr<v1::ListOverrideEventsResponse> page = Call(&Stub::ListOverrideEvents, request);
    if (!page.ok()) return page.status();
    for (v1::OverrideEvent& event : *page->mutable_events()) {
      if (!IsOn(event.override(), target)) continue;
      *all.add_events() = std::move(event);
      if (all.events_size() == most) return all;
    }
    request.set_page_token(page->next_page_token());
    if (request.page_token().empty()) return all;
  }
}

}  // namespace headgate::cli
