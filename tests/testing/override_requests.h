// Requests for overrides that several rooms' tests make.
//
//   stub->CreateOverride(&context, PauseForGood("job:etl"), &response);

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <cstdint>
#include <string>

namespace headgate {

// For an hour.
inline v1::CreateOverrideRequest Pause(const std::string& identity,
                                       const std::string& actor = "alice",
                                       const std::string& reason = "stuck shard") {
  v1::CreateOverrideRequest request;
  request.set_kind(v1::OVERRIDE_KIND_PAUSE);
  request.mutable_selector()->set_identity(identity);
  request.set_actor(actor);
  request.set_reason(reason);
  request.mutable_expires_in()->set_seconds(3600);
  return request;
}

inline v1::CreateOverrideRequest PauseForGood(const std::string& identity) {
  v1::CreateOverrideRequest request = Pause(identity, "test", "must outlive the server");
  request.set_never_expires(true);
  return request;
}

inline v1::DeleteOverrideRequest Ending(int64_t id, const std::string& actor = "bob",
                                        const std::string& reason = "it is over") {
  v1::DeleteOverrideRequest request;
  request.set_id(id);
  request.set_actor(actor);
  request.set_reason(reason);
  return request;
}

}  // namespace headgate
