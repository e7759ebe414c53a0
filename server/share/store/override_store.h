// OverrideStore: the overrides of several servers, in rows that they share.
//
// A change is one statement, which first moves the revision on, on condition that it is still the
// one that the change was made to. So changes come one after the other, and each server knows all
// that came before its own. What a change writes is there together with its revision, or not at
// all.
//
// It has a session of its own, opened when it is needed. Thread-compatible.
//
//   auto registry = overrides::Registry::Open(
//       std::make_unique<OverrideStore>(options, clock), {.put = put}, clock);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/remember/overrides/store.h"
#include "server/share/store/transactor.h"

namespace headgate::store {

class OverrideStore final : public overrides::Store {
 public:
  // Asks nothing yet. The clock outlives it. `timeout` is each call's.
  OverrideStore(const TransactorOptions& options, Clock& clock,
                absl::Duration timeout = absl::Seconds(2))
      : timeout_(timeout), transactor_(options, clock) {}

  absl::StatusOr<overrides::Contents> Read() override;
  absl::StatusOr<std::unique_ptr<overrides::Change>> Prepare(const overrides::Edit& edit,
                                                             uint64_t revision) override;
  absl::StatusOr<std::vector<overrides::Event>> ReadEvents(
      const overrides::EventQuery& query) override;
  bool IsShared() const override { return true; }

 private:
  class SharedChange;

  absl::Status Write(const overrides::Edit& edit, uint64_t revision);

  const absl::Duration timeout_;
  Transactor transactor_;
};

}  // namespace headgate::store
