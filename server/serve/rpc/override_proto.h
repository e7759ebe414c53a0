// Overrides in protobuf and back.
//
// Pure functions. What they refuse is INVALID_ARGUMENT and names the field.

#pragma once

#include <google/protobuf/timestamp.pb.h>
#include <headgate/v1/override_service.pb.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/remember/overrides/override.h"
#include "server/remember/overrides/request.h"

namespace headgate::rpc {

absl::StatusOr<overrides::CreateRequest> FromProto(const v1::CreateOverrideRequest& request);
absl::StatusOr<overrides::Selector> FromProto(const v1::Selector& selector);
// `field` names it in errors.
absl::StatusOr<absl::Time> FromProto(const char* field, const google::protobuf::Timestamp& time);

void FillOverride(const overrides::Override& from, v1::Override& to);
void FillOverrideEvent(const overrides::Event& from, v1::OverrideEvent& to);

}  // namespace headgate::rpc
