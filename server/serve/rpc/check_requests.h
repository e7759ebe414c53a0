// Checks as callers send them, in the engine's terms.
//
// The engine's requests are views into the messages, which must outlive them. A run of Checks that
// say the same are given the very same views: the engine resolves such a run once.
//
// A request_id is its caller's own: `scope`, a secret that each caller has one of, is hashed into
// it, so that nobody is given the answer, and with it the permit, of somebody else who happened or
// guessed to choose the same. 0: all callers are one.
//
// Thread-compatible; made to be reused.
//
//   CheckRequests requests;
//   requests.Assign(batch.checks(), 0, 100, {.address = peer_address});
//   engine.CheckBatch(requests.all(), now, ...);

#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/ip_prefix.h"

namespace headgate::rpc {

// How long a Check may wait in the server at most.
inline constexpr absl::Duration kLongestMaxWait = absl::Hours(1);

// How long this one will wait; zero: not at all. InvalidArgument: no such time, or it is only to be
// validated.
absl::StatusOr<absl::Duration> MaxWaitOf(const v1::CheckRequest& check);

class CheckRequests {
 public:
  // Who asks. All of it outlives the requests.
  struct From {
    const engine::IpAddress* address = nullptr;  // null: it is not known
    uint64_t scope = 0;                          // of its request ids; 0: they are as they are
    std::string_view caller = {};                // its name
  };
  // Of one Check.
  void Assign(const v1::CheckRequest& check, const From& from);
  // Of `count` Checks from the place `first` on.
  void Assign(const google::protobuf::RepeatedPtrField<v1::CheckRequest>& checks, int first,
              int count, const From& from);

  absl::Span<const engine::CheckRequest> all() const { return requests_; }

 private:
  void Start(size_t requests, size_t tags, const From& from);
  void Add(const v1::CheckRequest& check, const engine::IpAddress* address);
  absl::Span<const engine::Tag> AddTags(const v1::CheckRequest& check);
  std::string_view ScopedId(const std::string& request_id);

  std::vector<engine::CheckRequest> requests_;
  std::vector<engine::Tag> tags_;           // of all requests; requests_ points into it
  std::vector<engine::LeaseTerms> leases_;  // likewise
  std::vector<uint64_t> scoped_ids_;        // likewise
  uint64_t scope_ = 0;
  std::string_view caller_;
};

}  // namespace headgate::rpc
