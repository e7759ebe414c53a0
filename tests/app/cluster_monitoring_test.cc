// Metrics of a server among several whose configurations are not alike.

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

}  // namespace
}  // namespace headgate::app
