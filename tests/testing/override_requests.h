// Requests for overrides that several rooms' tests make.
//
//   stub->CreateOverride(&context, PauseForGood("job:etl"), &response);

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <string>

namespace headgate {

inline v1::CreateOverrideRequest PauseForGood(const std::string& identity) {
  v1::CreateOverrideRequest request;
  request.set_kind(v1::OVERRIDE_KIND_PAUSE);
  request.mutable_selector()->set_identity(identity);
  request.set_actor("test");
  request.set_reason("must outlive the server");
  request.set_never_expires(true);
  return request;
}

}  // namespace headgate
