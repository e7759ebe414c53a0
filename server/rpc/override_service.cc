#include "server/rpc/override_service.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "server/rpc/access_status.h"
#include "server/rpc/errors.h"
#include "server/rpc/override_proto.h"
#include "server/transport/error_status.h"

namespace headgate::rpc {
namespace {

constexpr int kOverridesOnPage = 100;
constexpr int kMaxOverridesOnPage = 1000;

grpc::Status NoStateFolder() {
  return transport::Failure(absl::StatusCode::kFailedPrecondition, "NO_STATE_FOLDER",
                            "there is no folder to keep overrides in: set server.state_dir in the "
                            "configuration, or start headgated with --state-dir");
}

grpc::Status ToGrpc(const absl::Status& status) {
  const std::string what(status.message());
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return transport::Overloaded("TOO_MANY_OVERRIDES", what);
    case absl::StatusCode::kUnavailable:
      return transport::Failure(status.code(), "STORE", what);
    default:
      return ToGrpcStatus(status, {});
  }
}

// As the registry says it.
grpc::Status NotInForce(int64_t id) {
  return ToGrpc(absl::NotFoundError(absl::StrCat("id: override ", id, " is not in force")));
}

bool IsBlank(const std::string& text) { return text.find_first_not_of(' ') == std::string::npos; }

// Adds to `reason` on whose behalf it is, as far as there is room: the request is good without.
void NameInReason(const std::string& named, std::string& reason) {
  constexpr absl::string_view kBegin = " (asked by ";
  constexpr absl::string_view kCut = "...";
  constexpr size_t kFrame = kBegin.size() + 1;
  const size_t room = overrides::kMaxReasonBytes - reason.size();
  if (named.size() + kFrame <= room) {
    absl::StrAppend(&reason, kBegin, named, ")");
    return;
  }
  size_t end = 0;
  while (end < named.size()) {
    const size_t next =
        end + std::max<size_t>(CharacterBytes(std::string_view(named).substr(end)), 1);
    if (next + kCut.size() + kFrame > room) break;
    end = next;
  }
  if (end > 0) absl::StrAppend(&reason, kBegin, absl::string_view(named).substr(0, end), kCut, ")");
}

// The actor is whoever called; whom the caller names besides is kept with the reason. What the
// caller sent is validated before that, as it was sent.
absl::Status Attribute(const access::Caller& caller, std::string& actor, std::string& reason) {
  const std::string named = std::exchange(actor, caller.name());
  const bool names_another = !IsBlank(named) && named != actor;
  absl::Status valid = overrides::ValidateWho(names_another ? named : actor, reason);
  if (valid.ok() && names_another) NameInReason(named, reason);
  return valid;
}

// One item more than the page has tells whether there is another page.
struct Page {
  size_t size = 0;
  int64_t before_id = 0;  // 0: the first page
  size_t most() const { return size + 1; }
};

// A token is the id of the last item of the page before.
absl::StatusOr<Page> PageOf(int size, const std::string& token) {
  if (size < 0 || size > kMaxOverridesOnPage) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size: must be 0 to ", kMaxOverridesOnPage, "; it is ", size));
  }
  Page page{.size = static_cast<size_t>(size == 0 ? kOverridesOnPage : size)};
  if (!token.empty() && (!absl::SimpleAtoi(token, &page.before_id) || page.before_id <= 0)) {
    return absl::InvalidArgumentError("page_token: is not one that this server gave out");
  }
  return page;
}

}  // namespace

template <typename Request, typename Response>
void OverrideService::AddGuarded(const char* path,
                                 grpc::Status (OverrideService::*run)(const Asked&, const Request&,
                                                                      Response&)) {
  AddSync<Request, Response>(
      path, [this, run](grpc::ServerContext& context, const Request& request, Response& response) {
        const CallEvidence call(context);
        Asked asked{.context = context};
        grpc::Status known = Identify(access_, call, asked.who);
        return known.ok() ? (this->*run)(asked, request, response) : known;
      });
}

OverrideService::OverrideService(overrides::Registry* registry, access::AccessControl& access)
    : registry_(registry), access_(access) {
  AddGuarded("/headgate.v1.OverrideService/CreateOverride", &OverrideService::Create);
  AddGuarded("/headgate.v1.OverrideService/ListOverrides", &OverrideService::List);
  AddGuarded("/headgate.v1.OverrideService/DeleteOverride", &OverrideService::Delete);
  AddGuarded("/headgate.v1.OverrideService/ListOverrideEvents", &OverrideService::ListEvents);
}

grpc::Status OverrideService::Create(const Asked& asked, const v1::CreateOverrideRequest& request,
                                     v1::CreateOverrideResponse& response) {
  const access::Caller* const caller = asked.who.caller;
  const auto refused =
      access_.MayOverride(asked.who, request.selector().identity(), "selector.identity");
  if (refused.has_value()) return ToGrpcStatus(*refused);
  if (registry_ == nullptr) return NoStateFolder();
  absl::StatusOr<overrides::CreateRequest> create = FromProto(request);
  if (!create.ok()) return ToGrpc(create.status());
  if (caller != nullptr) {
    const absl::Status valid = Attribute(*caller, create->actor, create->reason);
    if (!valid.ok()) return ToGrpc(valid);
    create->actor_is_caller = !caller->is_anybody();
  }
  const absl::StatusOr<overrides::Override> made = registry_->Create(*create);
  if (!made.ok()) return ToGrpc(made.status());
  TellChange(asked.context, "CreateOverride", "override created",
             {{"id", absl::StrCat(made->id)},
              {"kind", v1::OverrideKind_Name(request.kind())},
              {request.selector().has_segment() ? "segment" : "identity",
               request.selector().has_segment() ? request.selector().segment()
                                                : request.selector().identity()},
              {"target", request.selector().target()},
              {"actor", made->actor},
              {"reason", made->reason},
              {"expires_at",
               absl::FormatTime(absl::RFC3339_full, made->expires_at, absl::UTCTimeZone())}});
  FillOverride(*made, *response.mutable_override());
  return grpc::Status();
}

grpc::Status OverrideService::List(const Asked& asked, const v1::ListOverridesRequest& request,
                                   v1::ListOverridesResponse& response) {
  if (const auto refused = access_.MayReadStatus(asked.who)) return ToGrpcStatus(*refused);
  const absl::StatusOr<Page> page = PageOf(request.page_size(), request.page_token());
  if (!page.ok()) return ToGrpc(page.status());
  overrides::ListQuery query{.before_id = page->before_id, .most = page->most()};
  if (request.has_selector()) {
    query.selector = FromProto(request.selector());
    const absl::Status valid = overrides::ValidateSelector(*query.selector);
    if (!valid.ok()) return ToGrpc(valid);
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
  refused = access_.MayOverride(who, found.front().selector.identity, "id");
  if (!refused.has_value()) return grpc::Status();
  // Counted as refused, but whom others have overrides on takes `status` to know.
  if (!who.caller->status()) return NotInForce(id);
  return ToGrpcStatus(*refused);
}

grpc::Status OverrideService::Delete(const Asked& asked, const v1::DeleteOverrideRequest& request,
                                     v1::DeleteOverrideResponse& response) {
  const access::Caller* const caller = asked.who.caller;
  if (grpc::Status may = MayDelete(asked.who, request.id()); !may.ok()) return may;
  if (registry_ == nullptr) return NoStateFolder();
  overrides::DeleteRequest deletion{
      .id = request.id(), .actor = request.actor(), .reason = request.reason()};
  if (caller != nullptr) {
    const absl::Status valid = Attribute(*caller, deletion.actor, deletion.reason);
    if (!valid.ok()) return ToGrpc(valid);
  }
  const absl::StatusOr<overrides::Override> ended = registry_->Delete(deletion);
  if (!ended.ok()) return ToGrpc(ended.status());
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
