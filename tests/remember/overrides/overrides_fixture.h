// What the tests of overrides share: a registry over a real engine, a file that outlives it, and a
// clock that is moved by hand.
//
//   Desk desk(folder.File("overrides.db"), clock);
//   desk.Create(Pause("etl"));
//   EXPECT_FALSE(desk.Admits("job:etl"));

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/remember/overrides/registry.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/temp_folder.h"

namespace headgate::overrides {

inline CreateRequest Request(Kind kind, std::string identity, Expiry expiry = absl::Hours(1)) {
  CreateRequest request;
  request.kind = kind;
  request.selector.identity = std::move(identity);
  request.actor = "alice";
  request.reason = "stuck shard";
  request.expiry = expiry;
  return request;
}
inline CreateRequest Pause(std::string identity, Expiry expiry = absl::Hours(1)) {
  return Request(Kind::kPause, std::move(identity), expiry);
}
inline CreateRequest Throttle(std::string identity, double ratio) {
  CreateRequest request = Request(Kind::kThrottle, std::move(identity));
  request.ratio = ratio;
  return request;
}

inline DeleteRequest Ending(int64_t id) {
  return {.id = id, .actor = "bob", .reason = "it is over"};
}

// A budget that "etl" is charged to, on one nameless target.
inline engine::PolicySpec SomePolicy() {
  return engine::OneBudget(engine::RateBudget("rows", 10, 100));
}

class Desk {
 public:
  Desk(const std::string& path, FakeClock& clock, engine::PolicySpec policy = SomePolicy(),
       size_t max_in_force = 10'000)
      : clock_(clock) {
    auto opened =
        Registry::Open({.path = path,
                        .put = [this](engine::PolicySpec spec) { return Put(std::move(spec)); },
                        .max_in_force = max_in_force},
                       clock);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) registry_ = *std::move(opened);
    Install(std::move(policy));
  }

  Registry& operator*() { return *registry_; }
  Registry* operator->() { return registry_.get(); }

  void Install(engine::PolicySpec policy) {
    const absl::Status installed = registry_->Install(std::move(policy));
    EXPECT_TRUE(installed.ok()) << installed;
  }
  // From now on nothing can be put into force, or again.
  void RefusePuts(absl::Status with) { refusal_ = std::move(with); }

  Override Create(const CreateRequest& request) {
    absl::StatusOr<Override> made = registry_->Create(request);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.value_or(Override{});
  }
  absl::Status CreateError(const CreateRequest& request) {
    return registry_->Create(request).status();
  }
  void Delete(int64_t id) {
    const absl::StatusOr<Override> ended = registry_->Delete(Ending(id));
    EXPECT_TRUE(ended.ok()) << ended.status();
  }

  std::vector<int64_t> Listed(const ListQuery& query = {}) {
    std::vector<int64_t> ids;
    for (const Override& override : registry_->List(query)) ids.push_back(override.id);
    return ids;
  }
  std::vector<Event> Events(const EventQuery& query = {}) {
    absl::StatusOr<std::vector<Event>> events = registry_->Events(query);
    EXPECT_TRUE(events.ok()) << events.status();
    return events.value_or(std::vector<Event>{});
  }

  engine::CheckAnswer Check(std::string_view identity, std::string_view target = "") {
    engine::CheckAnswer answer;
    const absl::Status status = engine_.Check(
        {.identity = identity, .target = target, .estimated_cost = 0}, clock_.Read(), answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }
  bool Admits(std::string_view identity, std::string_view target = "") {
    return Check(identity, target).verdict == engine::Verdict::kAllowed;
  }

 private:
  absl::Status Put(engine::PolicySpec spec) {
    if (!refusal_.ok()) return refusal_;
    return engine_.Install(std::move(spec), clock_.Read());
  }

  FakeClock& clock_;
  engine::Engine engine_{engine::TestEngine::Options()};
  absl::Status refusal_;
  std::unique_ptr<Registry> registry_;
};

class OverridesTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.File("overrides.db"); }

  FakeClock clock_;

 private:
  const TempFolder folder_;
};

}  // namespace headgate::overrides
