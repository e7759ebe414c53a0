#include "server/decide/engine/target_text.h"

#include "gtest/gtest.h"

namespace headgate::engine {
namespace {

TEST(TargetText, SaysWhichTargetWasMeantOrWhichThereAre) {
  const std::vector<std::string> known = {"orders", "billing"};
  EXPECT_EQ(NoTargetText("order", known),
            "no target 'order' is configured; did you mean 'orders'?");
  EXPECT_EQ(NoTargetText("x", known), "no target 'x' is configured; there are: orders, billing");
  EXPECT_EQ(NoTargetText("x", {}), "no target 'x' is configured");
  EXPECT_EQ(UnnamedTargetText(known),
            "must be named, since several are configured: orders, billing");
}

TEST(TargetText, OfManyItNamesSome) {
  std::vector<std::string> known;
  for (int i = 0; i < 11; ++i) known.push_back(std::string(1, static_cast<char>('a' + i)));
  EXPECT_EQ(UnnamedTargetText(known),
            "must be named, since several are configured: a, b, c, d, e, f, g, h and 3 more");
}

}  // namespace
}  // namespace headgate::engine
