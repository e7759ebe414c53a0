#include "server/serve/rpc/override_service.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/operator_change.h"
#include "server/serve/rpc/override_proto.h"
#include "server/serve/rpc/page_size.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

constexpr int kOverridesOnPage = 100;
constexpr int kMaxOverridesOnPage = 1000;

grpc::Status ToGrpc(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) {
    return transport::Overloaded("TOO_MANY_OVERRIDES", std::string(status.message()));
  }
  return ChangeToGrpcStatus(status);
}

// As the registry says it.
grpc::Status NotInForce(int64_t id) {
  return ToGrpc(absl::NotFoundError(absl::StrCat("id: override ", id, " is not in force")));
}

constexpr size_t kExemptRulesShown = 20;

// A selector that says everything, but not that it is true, is refused later.
access::OverrideGrant GrantOf(const v1::CreateOverrideRequest& request) {
  if (request.selector().has_everything()) return access::OverrideGrant::kEverything;
  return request.kind() == v1::OVERRIDE_KIND_EXEMPT ? access::OverrideGrant::kExempt
                                                    : access::OverrideGrant::kOverrides;
}

access::OverrideGrant GrantOf(const overrides::Override& override) {
  if (override.selector.everything) return access::OverrideGrant::kEverything;
  return override.kind == overrides::Kind::kExempt ? access::OverrideGrant::kExempt
                                                   : access::OverrideGrant::kOverrides;
}

// The key and value that say in the log whom it is on.
std::pair<std::string, std::string> Whom(const v1::Selector& selector) {
  switch (selector.kind_case()) {
    case v1::Selector::kEverything:
      return {"everything", "true"};
    case v1::Selector::kSegment:
      return {"segment", selector.segment()};
    default:
      return {"identity", selector.identity()};
  }
}

// One item more than the page has tells whether there is another page.
struct Page {
  size_t size = 0;
  int64_t before_id = 0;  // 0: the first page
  size_t most() const { return size + 1; }
};

// A token is the id of the last item of the page before.
absl::StatusOr<Page> PageOf(int size, const std::string& token) {
  const absl::StatusOr<size_t> valid = PageSizeOf(size, kOverridesOnPage, kMaxOverridesOnPage);
  if (!valid.ok()) return valid.status();
  Page page{.size = *valid};
  if (!token.empty() && (!absl::SimpleAtoi(token, &page.before_id) || page.before_id <= 0)) {
    return absl::InvalidArgumentError("page_token: is not one that this server gave out");
  }
  return page;
}

}  // namespace

OverrideService::OverrideService(overrides::Registry* registry, access::AccessControl& access)
    : GuardedService(access), registry_(registry) {
  AddGuarded("/headgate.v1.OverrideService/CreateOverride", &OverrideService::Create);
  AddGuarded("/headgate.v1.OverrideService/ListOverrides", &OverrideService::List);
  AddGuarded("/headgate.v1.OverrideService/DeleteOverride", &OverrideService::Delete);
  AddGuarded("/headgate.v1.OverrideService/ListOverrideEvents", &OverrideService::ListEvents);
}

template <typename Response>
void OverrideService::Spread(Response& response) const {
  if (fleet_ == nullptr) return;
  for (std::string& server : fleet_->SpreadOverrides(registry_->GetState().revision)) {
    response.add_servers_not_reached(std::move(server));
  }
}

grpc::Status OverrideService::Create(const Asked& asked, const v1::CreateOverrideRequest& request,
                                     v1::CreateOverrideResponse& response) {
  const access::Caller* const caller = asked.who.caller;
  auto refused = access_.MayOverride(asked.who, GrantOf(request), request.selector().identity(),
                                     "selector.identity");
  if (refused.has_value()) return ToGrpcStatus(*refused);
  if (registry_ == nullptr) return NoStateFolder("overrides");
  absl::StatusOr<overrides::CreateRequest> create = FromProto(request);
  if (!create.ok()) return ToGrpc(create.status());
  if (caller != nullptr) {
    const absl::Status valid = Attribute(*caller, create->actor, create->reason);
    if (!valid.ok()) return ToGrpc(valid);
    create->actor_is_caller = !caller->is_anybody();
    create->may_lift_stops = caller->everything();
  }
  const absl::StatusOr<overrides::Override> made = registry_->Create(*create);
  if (absl::IsPermissionDenied(made.status())) {
    refused = access_.RefuseToLiftStop(asked.who, std::string(made.status().message()));
    return ToGrpcStatus(*refused);
  }
  if (!made.ok()) return ToGrpc(made.status());
  const auto whom = Whom(request.selector());
  TellChange(asked.context, "CreateOverride", "override created",
             {{"id", absl::StrCat(made->id)},
              {"kind", v1::OverrideKind_Name(request.kind())},
              {whom.first, whom.second},
              {"target", request.selector().target()},
              {"actor", made->actor},
              {"reason", made->reason},
              {"expires_at",
               absl::FormatTime(absl::RFC3339_full, made->expires_at, absl::UTCTimeZone())}});
  Spread(response);
  FillOverride(*made, *response.mutable_override());
  if (made->IsStop()) {
    const overrides::Exemptions exempt =
        registry_->ListExemptions(made->selector.target, kExemptRulesShown);
    response.set_exempt_rule_count(static_cast<int64_t>(exempt.count));
    for (const std::string& rule : exempt.rules) response.add_exempt_rules(rule);
  }
  return grpc::Status();
}

grpc::Status OverrideService::List(const Asked& asked, const v1::ListOverridesRequest& request,
                                   v1::ListOverridesResponse& response) {
  // Who may stop everything has to find what to end.
  const access::Caller* const caller = asked.who.caller;
  const bool is_its_own =
      caller != nullptr && caller->everything() && request.selector().everything();
  if (const auto refused = is_its_own ? std::nullopt : access_.MayReadStatus(asked.who)) {
    return ToGrpcStatus(*refused);
  }
  const absl::StatusOr<Page> page = PageOf(request.page_size(), request.page_token());
  if (!page.ok()) return ToGrpc(page.status());
  overrides::ListQuery query{.before_id = page->before_id, .most = page->most()};
  if (request.has_selector()) {
    const absl::StatusOr<overrides::Selector> selector = FromProto(request.selector());
    const absl::Status valid =
        selector.ok() ? overrides::ValidateSelector(*selector) : selector.status();
    if (!valid.ok()) return ToGrpc(valid);
    query.selector = *selector;
  }
  if (registry_ == nullptr) return grpc::Status();
  std::vector<overrides::Override> found = registry_->List(query);
  if (found.size() > page->size) {
    found.resize(page->size);
    response.set_next_page_token(absl::StrCat(found.back().id));
  }
  for (const overrides::Override& override : found) {
    FillOverride(override, *response.add_overrides());
  }
  return grpc::Status();
}

grpc::Status OverrideService::MayDelete(const access::Asker& who, int64_t id) {
  if (who.caller == nullptr) return grpc::Status();
  access::AccessControl::Refused refused = access_.MayOverride(who);
  if (refused.has_value()) return ToGrpcStatus(*refused);
  const bool may_exist = id > 0 && id < std::numeric_limits<int64_t>::max();
  if (!may_exist || registry_ == nullptr) return grpc::Status();
  const auto found = registry_->List({.before_id = id + 1, .most = 1});
  if (found.empty() || found.front().id != id) return grpc::Status();
  return MayEnd(who, found.front());
}

grpc::Status OverrideService::MayEnd(const access::Asker& who,
                                     const overrides::Override& override) const {
  const auto refused =
      access_.MayOverride(who, GrantOf(override), override.selector.identity, "id");
  if (!refused.has_value()) return grpc::Status();
  // Counted as refused, but whom others have overrides on takes `status` to know. What is on
  // everything each denial says.
  if (!who.caller->status() && !override.selector.everything) return NotInForce(override.id);
  return ToGrpcStatus(*refused);
}

grpc::Status OverrideService::Delete(const Asked& asked, const v1::DeleteOverrideRequest& request,
                                     v1::DeleteOverrideResponse& response) {
  const access::Caller* const caller = asked.who.caller;
  if (grpc::Status may = MayDelete(asked.who, request.id()); !may.ok()) return may;
  if (registry_ == nullptr) return NoStateFolder("overrides");
  overrides::DeleteRequest deletion{
      .id = request.id(), .actor = request.actor(), .reason = request.reason()};
  if (caller != nullptr) {
    const absl::Status valid = Attribute(*caller, deletion.actor, deletion.reason);
    if (!valid.ok()) return ToGrpc(valid);
  }
  // It may have been made a moment ago, or at another server.
  grpc::Status judged;
  if (caller != nullptr) {
    deletion.may_end = [&](const overrides::Override& override) {
      judged = MayEnd(asked.who, override);
      return judged.ok();
    };
  }
  const absl::StatusOr<overrides::Override> ended = registry_->Delete(deletion);
  if (!judged.ok()) return judged;
  if (!ended.ok()) return ToGrpc(ended.status());
  Spread(response);
  TellChange(
      asked.context, "DeleteOverride", "override ended",
      {{"id", absl::StrCat(ended->id)}, {"actor", deletion.actor}, {"reason", deletion.reason}});
  FillOverride(*ended, *response.mutable_override());
  return grpc::Status();
}

grpc::Status OverrideService::ListEvents(const Asked& asked,
                                         const v1::ListOverrideEventsRequest& request,
                                         v1::ListOverrideEventsResponse& response) {
  if (const auto refused = access_.MayReadStatus(asked.who)) return ToGrpcStatus(*refused);
  const absl::StatusOr<Page> page = PageOf(request.page_size(), request.page_token());
  if (!page.ok()) return ToGrpc(page.status());
  overrides::EventQuery query{
      .override_id = request.override_id(), .before_id = page->before_id, .most = page->most()};
  if (request.override_id() < 0) return transport::FieldError("override_id", "must be 0 or more");
  if (request.has_from()) {
    const absl::StatusOr<absl::Time> from = FromProto("from", request.from());
    if (!from.ok()) return ToGrpc(from.status());
    query.from = *from;
  }
  if (request.has_to()) {
    const absl::StatusOr<absl::Time> to = FromProto("to", request.to());
    if (!to.ok()) return ToGrpc(to.status());
    query.to = *to;
  }
  if (query.from >= query.to) return transport::FieldError("to", "must be later than `from`");
  if (registry_ == nullptr) return grpc::Status();
  absl::StatusOr<std::vector<overrides::Event>> events = registry_->Events(query);
  if (!events.ok()) return ToGrpc(events.status());
  if (events->size() > page->size) {
    events->resize(page->size);
    response.set_next_page_token(absl::StrCat(events->back().id));
  }
  for (const overrides::Event& event : *events) FillOverrideEvent(event, *response.add_events());
  return grpc::Status();
}

}  // namespace headgate::rpc
