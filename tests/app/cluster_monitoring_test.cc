// What is told of a server among several: whose configurations are not alike, and one whose states
// the store does not keep.

#include "server/app/cluster_monitoring.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/serve/web/exposition.h"
#include "tests/testing/set_control.h"

namespace headgate::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ClusterMonitoring, TellsHowDifferentlyServersHaveATargetAndHowManyHaveIt) {
  cluster::ClusterView view = ViewOfOne();
  view.targets[0].configurations = 2;
  view.targets[0].servers = 3;
  web::Exposition out;
  web::AddSharing(SharingOf(view), out);
  EXPECT_THAT(out.Text(), AllOf(HasSubstr("headgate_target_configurations{target=\"t0\"} 2\n"),
                                HasSubstr("headgate_target_servers{target=\"t0\"} 3\n")));
}

std::string MetricsOf(const cluster::ClusterView& view) {
  web::Exposition out;
  web::AddSharing(SharingOf(view), out);
  return out.Text();
}

TEST(ClusterMonitoring, AServerWhoseStatesAreNotKeptIsReadyAndDegraded) {
  cluster::ClusterView view = ViewOfOne();
  EXPECT_EQ(ReadinessOf(view, true).state, web::Readiness::State::kReady);
  EXPECT_THAT(MetricsOf(view), HasSubstr("headgate_store_states_up 1\n"));

  view.states = absl::PermissionDeniedError("no grant");
  const web::Readiness::View shown = ReadinessOf(view, true);
  EXPECT_EQ(shown.state, web::Readiness::State::kDegraded);
  EXPECT_THAT(shown.why, AllOf(HasSubstr("does not keep this server's states: no grant"),
                               HasSubstr("it has 1 target that nobody else could be given")));
  EXPECT_THAT(MetricsOf(view), HasSubstr("headgate_store_states_up 0\n"));

  view.targets[0].is_self = false;
  EXPECT_THAT(ReadinessOf(view, true).why, HasSubstr("it decides for nothing"));
}

TEST(ClusterMonitoring, TellsOfWhatIsDecidedApproximately) {
  cluster::ClusterView view = ViewOfOne();
  EXPECT_THAT(MetricsOf(view), testing::Not(HasSubstr("approximate")));
  view.store = absl::UnavailableError("away");
  view.approximation = {.is_deciding = true,
                        .servers = 3,
                        .admitted = 40,
                        .untracked = 4,
                        .uncharged_buckets = 2,
                        .charged_buckets = 5,
                        .lost_buckets = 1};
  EXPECT_THAT(MetricsOf(view),
              AllOf(HasSubstr("headgate_decides_approximately 1\n"),
                    HasSubstr("headgate_approximate_admitted_checks_total 40\n"),
                    HasSubstr("headgate_approximate_untracked_checks_total 4\n"),
                    HasSubstr("headgate_approximate_uncharged_buckets 2\n"),
                    HasSubstr("headgate_approximate_buckets_total{outcome=\"charged\"} 5\n"),
                    HasSubstr("headgate_approximate_buckets_total{outcome=\"lost\"} 1\n")));
  EXPECT_THAT(ReadinessOf(view, true).why, HasSubstr("is decided approximately"));
  EXPECT_THAT(ReadinessOf(view, false).why, testing::Not(HasSubstr("approximately")));
}

}  // namespace
}  // namespace headgate::app
