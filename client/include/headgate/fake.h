// FakeHeadgate: Headgate in the process of a test, without sockets, threads of its own or waiting.
//
// It allows every Check unless it is told otherwise, hands out permits, and remembers what it was
// asked and told. Clients made by it tell the time by FakeTime, which is virtual: a wait is over at
// once, and moves the time.
//
// As the real one it lets a Check with max_wait wait in its line: one that is denied for a time
// waits until that is over or its own time is up, and then gets what comes next. CheckOrWait waits
// so. What is left of a scripted denial when a Check's time is up is for the next Check.
//
// Reports come in the background even here: call Client::Flush before looking at them.
//
// Thread-safe. Clients may outlive it.
//
//   FakeHeadgate headgate;
//   auto client = headgate.NewClient({.on_unreachable = OnUnreachable::Fail()});
//   headgate.Deny(absl::Seconds(3));           // the next Check; the one after is allowed
//   RunBackfill(**client);                     // the code under test
//   (*client)->Flush(absl::Seconds(10));
//   EXPECT_THAT(headgate.outstanding(), testing::IsEmpty());  // every permit was reported
//   EXPECT_GE(headgate.time().Waited(), absl::Seconds(3));

#ifndef HEADGATE_FAKE_H_
#define HEADGATE_FAKE_H_

#include <headgate/check.h>
#include <headgate/client.h>
#include <headgate/time_source.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate::client {

// Virtual time: stands still until something waits, or a test advances it. Thread-safe.
class FakeTime final : public TimeSource {
 public:
  absl::Duration Now() override;
  // Unless `stop` was requested, it is then as much later, at once.
  void Wait(absl::Duration duration, const std::stop_token& stop) override;

  void Advance(absl::Duration by);
  // All that was waited for, in order, and in sum.
  std::vector<absl::Duration> Waits() const;
  absl::Duration Waited() const;

 private:
  mutable std::mutex mutex_;  // guards what follows
  absl::Duration now_ = absl::Seconds(1000);
  std::vector<absl::Duration> waits_;
};

class FakeHeadgate {
 public:
  using Handler = std::function<absl::StatusOr<Answer>(const CheckRequest&)>;

  FakeHeadgate();

  // A client of this fake, on its time unless options.time is another. As Client::Create.
  absl::StatusOr<std::unique_ptr<Client>> NewClient(ClientOptions options);

  FakeTime& time() { return *time_; }

  // What the next Checks get, in the order of these calls. A permit is added where it is missing.
  void Allow(Answer answer = {});
  void Deny(absl::Duration retry_after, Reason reason = Reason::kCapacity);
  // A denial that waiting will not change.
  void DenyForGood(Reason reason = Reason::kDenyRule);
  void Fail(absl::Status status);
  // What all others get; at first, each is allowed. It may use this object.
  void SetHandler(Handler handler);
  // What reports that settle are told from now on; at first, nothing.
  void SetOverruns(std::vector<Overrun> overruns);
  void SetUnsettled(std::vector<std::string> budgets);  // likewise
  // Whether calls arrive at all. Those that do not are UNAVAILABLE, and not remembered.
  enum class Network { kUp, kDown };
  void SetNetwork(Network network);
  // An order reaches those who hold leases now: what was granted before is given back.
  void TakeBackLeases();
  // Where a Check waits that may: in the line of this server, at first; or, as with a server that
  // knows no max_wait and answers each Check at once, in the client.
  enum class Waiting { kInServer, kInClient };
  void SetWaiting(Waiting waiting);

  // Whether it grants leases, as it does at first; a server from before there were any takes a
  // Check for one for any other.
  enum class Leases { kGranted, kUnknown };
  void SetLeases(Leases leases);

  // What arrived, oldest first.
  std::vector<CheckRequest> checks() const;
  std::vector<PermitReport> reports() const;
  // Permits that were given and not reported.
  std::vector<uint64_t> outstanding() const;

 private:
  class Server;
  class Line;

  const std::shared_ptr<FakeTime> time_;
  const std::shared_ptr<Server> server_;
};

}  // namespace headgate::client

#endif  // HEADGATE_FAKE_H_
