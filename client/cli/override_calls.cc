#include "client/cli/override_calls.h"

#include <algorithm>

#include "client/cli/connection.h"

namespace headgate::cli {
namespace {

using Stub = v1::OverrideService::Stub;

constexpr int kPageSize = 1000;

}  // namespace

OverrideCalls::OverrideCalls(const Globals& globals)
    : address_(WithPort(globals.address)),
      timeout_(globals.timeout),
      stub_(v1::OverrideService::NewStub(OpenChannel(address_))) {}

template <typename Response, typename Request>
absl::StatusOr<Response> OverrideCalls::Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                          const Request&,
                                                                          Response*),
                                             const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context, timeout_);
  Response response;
  const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
  if (status.ok()) return response;
  // Details are Headgate's: gRPC itself gives none.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !status.error_details().empty()) {
    return absl::AbortedError(status.error_message());
  }
  return Explained(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
      address_, timeout_);
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

absl::StatusOr<v1::ListOverrideEventsResponse> OverrideCalls::Events(int most) {
  v1::ListOverrideEventsResponse all;
  v1::ListOverrideEventsRequest request;
  while (all.events_size() < most) {
    request.set_page_size(std::min(most - all.events_size(), kPageSize));
    absl::StatusOr<v1::ListOverrideEventsResponse> page = Call(&Stub::ListOverrideEvents, request);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    page->clear_next_page_token();
    all.MergeFrom(*page);
    if (request.page_token().empty()) break;
  }
  return all;
}

}  // namespace headgate::cli
