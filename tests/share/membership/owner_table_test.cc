// Who owns what, as it is published and looked up.

#include "server/share/membership/owner_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace headgate::membership {
namespace {

using cluster::Owner;
using cluster::OwnerRow;

Now At(int64_t monotonic_ns) {
  Now now;
  now.monotonic_ns = monotonic_ns;
  return now;
}

OwnerRow Own(uint64_t generation, int64_t until_ns) {
  OwnerRow row;
  row.kind = OwnerRow::Kind::kSelf;
  row.generation = generation;
  row.trusted_until_ns = until_ns;
  return row;
}

OwnerRow OfB(uint64_t generation) {
  return {
      .kind = OwnerRow::Kind::kOther, .generation = generation, .member = "b", .address = "b:1"};
}

TEST(OwnerTable, KnowsNobodyAtFirst) {
  EXPECT_EQ(OwnerTable().Find("orders", At(1)).kind, Owner::Kind::kNobody);
}

TEST(OwnerTable, TrustsAnOwnLeaseUntilItEnds) {
  OwnerTable table;
  EXPECT_TRUE(table.Publish({{"orders", Own(3, 100)}}, 1));
  EXPECT_EQ(table.Find("orders", At(99)).kind, Owner::Kind::kSelf);
  EXPECT_EQ(table.Find("orders", At(99)).generation, 3U);
  EXPECT_EQ(table.Find("orders", At(100)).kind, Owner::Kind::kNobody);
}

TEST(OwnerTable, ARenewedLeaseIsNoChange) {
  OwnerTable table;
  table.Publish({{"orders", Own(3, 100)}}, 1);
  EXPECT_FALSE(table.Publish({{"orders", Own(3, 200)}}, 1));
  EXPECT_EQ(table.Find("orders", At(150)).kind, Owner::Kind::kSelf);
}

TEST(OwnerTable, NobodyIsMissingOfWhatNobodyHas) {
  OwnerTable table;
  cluster::OwnerRow row;
  row.generation = 3;
  table.Publish({{"orders", row}}, 1);
  EXPECT_TRUE(table.IsAnybodyMissing());
  row.is_offered = false;
  table.Publish({{"orders", row}}, 2);
  EXPECT_FALSE(table.IsAnybodyMissing());
  EXPECT_EQ(table.Find("orders", At(3)).generation, 3U);
}

TEST(OwnerTable, TellsWhoElseOwnsIt) {
  OwnerTable table;
  table.Publish({{"orders", Own(3, 100)}}, 1);
  EXPECT_TRUE(table.Publish({{"orders", OfB(4)}}, 1));
  const Owner owner = table.Find("orders", At(1));
  EXPECT_EQ(owner.kind, Owner::Kind::kOther);
  EXPECT_EQ(owner.member, "b");
  EXPECT_EQ(owner.address, "b:1");
  EXPECT_EQ(owner.generation, 4U);
}

TEST(OwnerTable, WhatIsConfiguredNoLongerIsNobodys) {
  OwnerTable table;
  table.Publish({{"orders", Own(3, 100)}, {"billing", OfB(1)}}, 1);
  EXPECT_TRUE(table.Publish({{"billing", OfB(1)}}, 1));
  EXPECT_EQ(table.Find("orders", At(1)).kind, Owner::Kind::kNobody);
  EXPECT_EQ(table.Find("billing", At(1)).kind, Owner::Kind::kOther);
}

// What was issued for it is with nobody, or on its way.
TEST(OwnerTable, KnowsWhenATargetOfItsOwnWasGivenAway) {
  OwnerTable table;
  EXPECT_TRUE(table.IsAnybodyMissing());
  table.Publish({{"orders", Own(3, 100)}}, 10);
  EXPECT_FALSE(table.IsAnybodyMissing());
  EXPECT_EQ(table.lost_at_ns(), INT64_MIN);
  table.Publish({{"orders", {}}}, 20);
  EXPECT_TRUE(table.IsAnybodyMissing());
  EXPECT_EQ(table.lost_at_ns(), 20);
  table.Publish({{"orders", OfB(4)}}, 30);
  EXPECT_FALSE(table.IsAnybodyMissing());
  EXPECT_EQ(table.lost_at_ns(), 20);
}

TEST(OwnerTable, ATargetThatIsConfiguredAgainHasAnOwnerAgain) {
  OwnerTable table;
  table.Publish({{"orders", Own(3, 100)}}, 1);
  table.Publish({{"billing", OfB(1)}}, 20);
  EXPECT_EQ(table.lost_at_ns(), 20);
  EXPECT_TRUE(table.Publish({{"orders", Own(4, 200)}}, 30));
  EXPECT_EQ(table.Find("orders", At(150)).kind, Owner::Kind::kSelf);
  EXPECT_EQ(table.Find("billing", At(150)).kind, Owner::Kind::kNobody);
}

// Publishes `count` more names, one at a time, and looks one up each time.
std::vector<std::weak_ptr<const void>> Replace(OwnerTable& table, int count) {
  std::vector<std::weak_ptr<const void>> maps;
  std::map<std::string, OwnerRow> owners;
  for (int i = 0; i < count; ++i) {
    owners["t" + std::to_string(i)] = Own(1, 100);
    table.Publish(owners, 1);
    EXPECT_EQ(table.Find("t" + std::to_string(i), At(1)).kind, Owner::Kind::kSelf);
    maps.push_back(table.current_names());
  }
  return maps;
}

int64_t Live(const std::vector<std::weak_ptr<const void>>& maps) {
  return std::ranges::count_if(maps, [](const auto& map) { return !map.expired(); });
}

TEST(OwnerTable, AMapThatWasReplacedIsLetGoOf) {
  OwnerTable table;
  EXPECT_EQ(Live(Replace(table, 1000)), 1);
}

TEST(OwnerTable, ARenewalReplacesNoMap) {
  OwnerTable table;
  table.Publish({{"orders", Own(3, 100)}}, 1);
  const std::weak_ptr<const void> map = table.current_names();
  table.Publish({{"orders", OfB(4)}}, 2);
  EXPECT_EQ(map.lock(), table.current_names().lock());
}

TEST(OwnerTable, AThreadThatDoesNotLookKeepsTheOneMapThatItSawLast) {
  OwnerTable table;
  table.Publish({{"orders", Own(3, 100)}}, 1);
  std::vector<std::weak_ptr<const void>> maps = {table.current_names()};
  absl::Notification has_looked;
  absl::Notification may_look_again;
  absl::Notification has_looked_again;
  absl::Notification may_end;
  std::thread reader([&] {
    EXPECT_EQ(table.Find("orders", At(1)).kind, Owner::Kind::kSelf);
    has_looked.Notify();
    may_look_again.WaitForNotification();
    EXPECT_EQ(table.Find("orders", At(1)).kind, Owner::Kind::kNobody);
    has_looked_again.Notify();
    may_end.WaitForNotification();
  });
  has_looked.WaitForNotification();
  for (const auto& map : Replace(table, 100)) maps.push_back(map);
  EXPECT_EQ(Live(maps), 2);
  may_look_again.Notify();
  has_looked_again.WaitForNotification();
  EXPECT_EQ(Live(maps), 1);
  may_end.Notify();
  reader.join();
}

TEST(OwnerTable, ManyNamesMayComeOneByOne) {
  OwnerTable table;
  std::map<std::string, OwnerRow> owners;
  for (int i = 0; i < 100; ++i) {
    owners["t" + std::to_string(i)] = Own(1, 100);
    table.Publish(owners, 1);
  }
  for (const auto& [target, row] : owners) {
    EXPECT_EQ(table.Find(target, At(1)).kind, Owner::Kind::kSelf) << target;
  }
}

}  // namespace
}  // namespace headgate::membership
