// What metrics tell of leases.

#include <optional>

#include "gtest/gtest.h"
#include "server/serve/web/metrics.h"
#include "tests/serve/web/exposition_text.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::web {
namespace {

class LeaseMetrics : public testing::Test {
 protected:
  LeaseMetrics() : engine_(OnTwo()) {}

  static engine::PolicySpec OnTwo() {
    engine::PolicySpec policy = engine::OneBudget(engine::RateBudget("b", 10, 1000));
    policy.targets.resize(2);
    policy.targets[0].name = "orders";
    policy.targets[1].name = "billing";
    return policy;
  }
  void Lease(const char* identity, double amount) {
    const engine::LeaseTerms terms{.least = 1, .life = absl::Seconds(1)};
    engine::CheckRequest request = engine::Request(identity, amount);
    request.target = "orders";
    request.lease = &terms;
    ASSERT_NE(engine_.Check(request).permit, 0);
  }
  Scrape ScrapeOf(const EngineFigures& figures) {
    Exposition out;
    AddEngine(*engine_, figures, out);
    return Scrape::Parse(out.Text());
  }

  engine::TestEngine engine_;
};

TEST_F(LeaseMetrics, CountThoseOfEachTarget) {
  Lease("job:etl", 40);
  Lease("job:etl", 30);
  Lease("other:etl", 20);
  Scrape scrape = ScrapeOf({.now = engine::At()});
  const auto of = [&](const char* name, const char* target = "orders") {
    return scrape.Value(name, {{"target", target}});
  };
  EXPECT_EQ(of("headgate_leases"), 3);
  EXPECT_EQ(of("headgate_lease_holders"), 2);
  EXPECT_EQ(of("headgate_lease_amount"), 90);
  EXPECT_EQ(of("headgate_leases_overdue"), 0);
  EXPECT_EQ(of("headgate_leases", "billing"), 0);
  scrape = ScrapeOf({.now = engine::At(absl::Seconds(1))});
  EXPECT_EQ(of("headgate_leases"), 0);
  EXPECT_EQ(of("headgate_lease_amount"), 0);
  EXPECT_EQ(of("headgate_leases_overdue"), 3);
}

TEST_F(LeaseMetrics, AreNotThoseOfTargetsThatOthersDecideFor) {
  Lease("job:etl", 40);
  const Scrape scrape = ScrapeOf({.now = engine::At(), .targets_elsewhere = {"orders"}});
  EXPECT_EQ(scrape.Value("headgate_leases", {{"target", "orders"}}), std::nullopt);
  EXPECT_EQ(scrape.Value("headgate_leases", {{"target", "billing"}}), 0);
}

}  // namespace
}  // namespace headgate::web
