#include "client/agent/cpu_limit.h"

#include <map>

#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

using scheduling::CpuGroupPlace;

// Files of cgroups as the kernel has them.
class CpuLimitTest : public ::testing::Test {
 protected:
  std::optional<double> Limit(const CpuGroupPlace& place) {
    return ProcessorLimit(place, [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files_.find(path);
      return found == files_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  std::map<std::string, std::string> files_;
};

TEST_F(CpuLimitTest, TheLeastOfTheCgroupAndThoseAboveItCounts) {
  const CpuGroupPlace place{.folder = "/cg/pods/pod/postgres", .mount = "/cg", .unified = true};
  EXPECT_EQ(Limit(place), std::nullopt);
  files_["/cg/pods/pod/postgres/cpu.max"] = "max 100000\n";
  EXPECT_EQ(Limit(place), std::nullopt);
  files_["/cg/pods/cpu.max"] = "400000 100000\n";
  EXPECT_EQ(Limit(place), 4.0);
  files_["/cg/pods/pod/postgres/cpu.max"] = "75000 50000\n";
  EXPECT_EQ(Limit(place), 1.5);
  files_["/cg/pods/pod/postgres/cpu.max"] = "nonsense\n";
  EXPECT_EQ(Limit(place), 4.0);
}

TEST_F(CpuLimitTest, ReadsVersionOneOfCgroups) {
  const CpuGroupPlace place{.folder = "/cpu/db", .mount = "/cpu"};
  files_["/cpu/db/cpu.cfs_quota_us"] = "-1\n";
  files_["/cpu/db/cpu.cfs_period_us"] = "100000\n";
  EXPECT_EQ(Limit(place), std::nullopt);
  files_["/cpu/db/cpu.cfs_quota_us"] = "50000\n";
  EXPECT_EQ(Limit(place), 0.5);
}

TEST_F(CpuLimitTest, TheRootOfAllHasNone) {
  EXPECT_EQ(Limit({.folder = "/cg", .mount = "/cg", .unified = true}), std::nullopt);
}

}  // namespace
}  // namespace headgate::agent
