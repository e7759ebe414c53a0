#include "server/serve/transport/taken_bytes.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace headgate::transport {
namespace {

constexpr char kPeer[] = "ipv4:10.0.0.1:4711";

TEST(TakenBytes, AreOfTheConnectionThatIsNamedAndTakenOnce) {
  TakenBytes taken;
  const auto connection = taken.Open(kPeer);
  const auto other = taken.Open("ipv4:10.0.0.1:4712");
  taken.Add(kPeer, 5000);
  taken.Add(kPeer, 70);
  EXPECT_EQ(connection->Take(), 5070);
  EXPECT_EQ(connection->Take(), 0);
  EXPECT_EQ(other->Take(), 0);
}

TEST(TakenBytes, OfNobodyWhoIsKnownAreNobodys) {
  TakenBytes taken;
  taken.Add(kPeer, 5000);
  auto connection = taken.Open(kPeer);
  EXPECT_EQ(connection->Take(), 0);
  connection = nullptr;
  EXPECT_EQ(taken.Find(kPeer), nullptr);
}

TEST(TakenBytes, WhoseNameIsGivenAgainAreOfTheNewOne) {
  TakenBytes taken;
  const auto before = taken.Open(kPeer);
  const auto after = taken.Open(kPeer);
  taken.Add(kPeer, 5000);
  EXPECT_EQ(before->Take(), 0);
  EXPECT_EQ(after->Take(), 5000);
}

TEST(TakenBytes, AreKnownHoweverManyOthersHaveCome) {
  TakenBytes taken;
  std::vector<std::shared_ptr<TakenBytes::Connection>> open;
  for (int i = 0; i < 1000; ++i) {
    open.push_back(taken.Open(absl::StrCat("open ", i)));
    taken.Open(absl::StrCat("closed ", i));
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(taken.Find(absl::StrCat("open ", i)), open[i]);
    EXPECT_EQ(taken.Find(absl::StrCat("closed ", i)), nullptr);
  }
}

}  // namespace
}  // namespace headgate::transport
