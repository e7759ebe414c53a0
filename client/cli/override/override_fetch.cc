#include "client/cli/override/override_fetch.h"

#include <utility>

#include "client/cli/connection/fetch_pages.h"

namespace headgate::cli {
namespace {

using OverrideFetchStub = v1::OverrideService::Stub;

constexpr int kOverridesInPage = 1000;

}  // namespace

bool IsOn(const v1::Override& override, const std::string& target) {
  const std::string& its = override.selector().target();
  return target.empty() || its.empty() || its == target;
}

absl::StatusOr<v1::ListOverridesResponse> ListOverrides(Connection& connection,
                                                        v1::ListOverridesRequest request) {
  return FetchPages(connection, &OverrideFetchStub::ListOverrides, std::move(request),
                    {.max_in_page = kOverridesInPage},
                    [](const auto& response) { return response.overrides_size(); });
}

absl::StatusOr<v1::ListOverrideEventsResponse> ListEvents(Connection& connection,
                                                          v1::ListOverrideEventsRequest request,
                                                          const std::string& target, int most) {
  v1::ListOverrideEventsResponse all;
  request.set_page_size(kOverridesInPage);
  for (;;) {
    absl::StatusOr<v1::ListOverrideEventsResponse> page =
        connection.Call(&OverrideFetchStub::ListOverrideEvents, request);
    if (!page.ok()) return page.status();
    for (v1::OverrideEvent& event : *page->mutable_events()) {
      // What else was done is shown for every target: only its text says where.
      if (event.has_override() && !IsOn(event.override(), target)) continue;
      *all.add_events() = std::move(event);
      if (all.events_size() == most) return all;
    }
    request.set_page_token(page->next_page_token());
    if (request.page_token().empty()) return all;
  }
}

}  // namespace headgate::cli
