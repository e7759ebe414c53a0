// FairQueue against a model that is simple enough to be believed, over random traces of actions.
//
// HEADGATE_TEST_SCALE multiplies the number of random actions.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/decide/line/fair_queue_trace.h"
#include "tests/testing/test_scale.h"

namespace headgate::line {
namespace {

TEST(FairQueueProperty, EveryHeadIsTheModels) {
  const auto wanted = static_cast<uint64_t>(Scaled(1'000'000));
  std::mt19937_64 random(20261123);
  FairQueueTrace::Tally tally;
  std::vector<uint8_t> bytes;
  for (uint64_t actions = 0; actions < wanted;) {
    // Short traces see a young queue, long ones one with a history.
    bytes.resize(50 + random() % 4000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(RunFairQueueTrace(bytes, &tally), "") << "after " << actions << " actions";
    actions = 0;
    for (const auto& [name, times] : tally) actions += times;
  }
  // Where one of these has become rare, the traces do not test what they are for.
  for (const std::string name :
       {"push", "admit the head", "admit the head, removed first", "remove the head",
        "remove anyone", "charge", "charge, nobody waits", "adjust", "foresee"}) {
    EXPECT_GE(tally[name], wanted / 200) << name;
  }
}

}  // namespace
}  // namespace headgate::line
