#include "server/serve/rpc/override_proto.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

using overrides::EventKind;
using overrides::Kind;

constexpr int64_t kFirstUnixSecond = -62'135'596'800;  // of the year 1

absl::StatusOr<Kind> KindOf(v1::OverrideKind kind) {
  switch (kind) {
    case v1::OVERRIDE_KIND_PAUSE:
      return Kind::kPause;
    case v1::OVERRIDE_KIND_THROTTLE:
      return Kind::kThrottle;
    case v1::OVERRIDE_KIND_EXEMPT:
      return Kind::kExempt;
    case v1::OVERRIDE_KIND_RESUME:
      return Kind::kResume;
    default:
      return absl::InvalidArgumentError(
          "kind: must be OVERRIDE_KIND_PAUSE, OVERRIDE_KIND_THROTTLE, OVERRIDE_KIND_EXEMPT or "
          "OVERRIDE_KIND_RESUME");
  }
}

v1::OverrideKind ToProto(Kind kind) {
  switch (kind) {
    case Kind::kPause:
      return v1::OVERRIDE_KIND_PAUSE;
    case Kind::kThrottle:
      return v1::OVERRIDE_KIND_THROTTLE;
    case Kind::kExempt:
      return v1::OVERRIDE_KIND_EXEMPT;
    case Kind::kResume:
      return v1::OVERRIDE_KIND_RESUME;
  }
  return v1::OVERRIDE_KIND_UNSPECIFIED;
}

v1::OverrideEventKind ToProto(EventKind kind) {
  switch (kind) {
    case EventKind::kCreated:
      return v1::OVERRIDE_EVENT_KIND_CREATED;
    case EventKind::kDeleted:
      return v1::OVERRIDE_EVENT_KIND_DELETED;
    case EventKind::kExpired:
      return v1::OVERRIDE_EVENT_KIND_EXPIRED;
    case EventKind::kCostsForgotten:
      return v1::OVERRIDE_EVENT_KIND_COSTS_FORGOTTEN;
    case EventKind::kDebtForgiven:
      return v1::OVERRIDE_EVENT_KIND_DEBT_FORGIVEN;
    case EventKind::kServersChanged:
      return v1::OVERRIDE_EVENT_KIND_SERVERS_CHANGED;
  }
  return v1::OVERRIDE_EVENT_KIND_UNSPECIFIED;
}

absl::StatusOr<overrides::Expiry> ExpiryOf(const v1::CreateOverrideRequest& request) {
  if (request.has_expires_in()) {
    const google::protobuf::Duration& in = request.expires_in();
    const bool mixed = (in.seconds() > 0 && in.nanos() < 0) || (in.seconds() < 0 && in.nanos() > 0);
    if (mixed || in.nanos() <= -kNanosPerSecond || in.nanos() >= kNanosPerSecond ||
        in.seconds() < -kMaxSeconds || in.seconds() > kMaxSeconds) {
      return absl::InvalidArgumentError("expires_in: is no valid Duration");
    }
    return DurationOf(in);
  }
  if (request.has_expires_at()) {
    const absl::StatusOr<absl::Time> at = FromProto("expires_at", request.expires_at());
    if (!at.ok()) return at.status();
    return *at;
  }
  if (!request.has_never_expires()) {
    return absl::InvalidArgumentError(
        "expires_in: one of expires_in, expires_at and never_expires is required");
  }
  if (!request.never_expires()) {
    return absl::InvalidArgumentError("never_expires: must be true, or not be set");
  }
  return overrides::Never{};
}

}  // namespace

absl::StatusOr<absl::Time> FromProto(const char* field, const google::protobuf::Timestamp& time) {
  if (time.nanos() < 0 || time.nanos() >= kNanosPerSecond || time.seconds() < kFirstUnixSecond ||
      time.seconds() > kLastUnixSecond) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": is no valid Timestamp"));
  }
  return TimeOf(time);
}

absl::StatusOr<overrides::Selector> FromProto(const v1::Selector& selector) {
  if (selector.has_everything() && !selector.everything()) {
    return absl::InvalidArgumentError("selector.everything: must be true, or not be set");
  }
  return overrides::Selector{.identity = selector.identity(),
                             .segment = selector.segment(),
                             .everything = selector.everything(),
                             .target = selector.target()};
}

absl::StatusOr<overrides::CreateRequest> FromProto(const v1::CreateOverrideRequest& request) {
  const absl::StatusOr<Kind> kind = KindOf(request.kind());
  if (!kind.ok()) return kind.status();
  const absl::StatusOr<overrides::Selector> selector = FromProto(request.selector());
  if (!selector.ok()) return selector.status();
  const absl::StatusOr<overrides::Expiry> expiry = ExpiryOf(request);
  if (!expiry.ok()) return expiry.status();
  overrides::CreateRequest create{.kind = *kind,
                                  .selector = *selector,
                                  .ratio = {},
                                  .actor = request.actor(),
                                  .reason = request.reason(),
                                  .expiry = *expiry};
  if (request.has_ratio()) create.ratio = request.ratio();
  return create;
}

void FillOverride(const overrides::Override& from, v1::Override& to) {
  to.set_id(from.id);
  to.set_kind(ToProto(from.kind));
  v1::Selector& selector = *to.mutable_selector();
  if (!from.selector.identity.empty()) selector.set_identity(from.selector.identity);
  if (!from.selector.segment.empty()) selector.set_segment(from.selector.segment);
  if (from.selector.everything) selector.set_everything(true);
  selector.set_target(from.selector.target);
  to.set_ratio(from.ratio);
  to.set_actor(from.actor);
  to.set_reason(from.reason);
  SetTimestamp(from.created_at, *to.mutable_created_at());
  if (from.expires_at != absl::InfiniteFuture()) {
    SetTimestamp(from.expires_at, *to.mutable_expires_at());
  }
}

void FillOverrideEvent(const overrides::Event& from, v1::OverrideEvent& to) {
  to.set_id(from.id);
  SetTimestamp(from.happened_at, *to.mutable_happened_at());
  to.set_kind(ToProto(from.kind));
  if (from.override.id != 0) FillOverride(from.override, *to.mutable_override());
  to.set_actor(from.actor);
  to.set_reason(from.reason);
  to.set_change(from.change);
}

}  // namespace headgate::rpc
