// Short ways to a client of FakeHeadgate.
#pragma once

#include <headgate/client.h>
#include <headgate/fake.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace headgate::client {

inline constexpr absl::Duration kForever = absl::InfiniteDuration();
inline constexpr absl::Duration kCheckDeadline = absl::Milliseconds(250);  // by default

inline ClientOptions Options(OnUnreachable on_unreachable = OnUnreachable::Fail()) {
  return {.on_unreachable = on_unreachable, .identity = "backfill:etl"};
}

inline std::unique_ptr<Client> Take(absl::StatusOr<std::unique_ptr<Client>> client) {
  EXPECT_TRUE(client.ok()) << client.status();
  if (!client.ok()) std::abort();
  return *std::move(client);
}

inline std::unique_ptr<Client> NewClient(FakeHeadgate& headgate,
                                         const ClientOptions& options = Options()) {
  return Take(headgate.NewClient(options));
}

// A server that knows no max_wait, or lets nobody wait: it answers each Check at once.
class PollingHeadgate : public FakeHeadgate {
 public:
  PollingHeadgate() { SetWaiting(Waiting::kInClient); }
};

// Generous: it passes in an instant unless something is broken.
inline bool Flushed(Client& client) { return client.Flush(absl::Seconds(60)); }

}  // namespace headgate::client
