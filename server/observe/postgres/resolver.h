// Resolver: host names to addresses, within a deadline.
//
// getaddrinfo() blocks for as long as name servers are silent, 10 s and more, and can't be
// interrupted. So each lookup runs on a thread of its own; one that is given up goes on by itself,
// and a later Resolve() of the same name waits for that one instead of starting another. There is
// no cache: each Resolve() begins a lookup or joins one under way.
//
// Thread-safe.
//
//   absl::StatusOr<std::vector<std::string>> addresses = resolver.Resolve("db", waiter, deadline);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "server/observe/postgres/deadline.h"
#include "server/observe/postgres/socket_waiter.h"

namespace headgate::postgres {

// Numeric addresses, in the order in which to try them. May block; called on any thread.
using HostLookup = std::function<absl::StatusOr<std::vector<std::string>>(const std::string& host)>;

absl::StatusOr<std::vector<std::string>> LookupBySystem(const std::string& host);

class Resolver {
 public:
  explicit Resolver(HostLookup lookup = LookupBySystem);
  ~Resolver();

  // Errors: Unavailable (no such host, no name server), DeadlineExceeded, Cancelled.
  absl::StatusOr<std::vector<std::string>> Resolve(const std::string& host,
                                                   const SocketWaiter& waiter,
                                                   const Deadline& deadline);

 private:
  struct UnderWay;

  absl::StatusOr<std::shared_ptr<UnderWay>> Begin(const std::string& host) const;
  absl::StatusOr<std::shared_ptr<UnderWay>> Join(const std::string& host);

  const HostLookup lookup_;
  Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<UnderWay>> under_way_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::postgres
