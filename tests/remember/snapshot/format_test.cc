#include "server/remember/snapshot/format.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tests/remember/snapshot/busy_engine.h"

namespace headgate::snapshot {
namespace {

using engine::At;

constexpr BootId kBoot = {1, 2, 3};

std::string Saved(engine::Engine& engine, Now now = At()) {
  engine::SavedState state;
  engine.Save(now, state);
  Encoded encoded;
  Encode(state, kBoot, encoded);
  return encoded.bytes;
}

uint64_t FingerprintOf(engine::Engine& engine, Now now = At()) {
  engine::SavedState state;
  engine.Save(now, state);
  Encoded encoded;
  Encode(state, kBoot, encoded);
  return encoded.fingerprint;
}

TEST(SnapshotFormat, WhatIsReadIsWhatWasWritten) {
  const auto engine = BusyEngine();
  const std::string bytes = Saved(*engine);
  const absl::StatusOr<Decoded> decoded = Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->boot, kBoot);
  EXPECT_EQ(decoded->state.saved_at.wall_ns, At().wall_ns);
  EXPECT_EQ(decoded->state.permits.size(), 8U);
  EXPECT_GE(decoded->state.requests.size(), 8U);
  ASSERT_EQ(decoded->state.controls.size(), 1U);
  EXPECT_EQ(decoded->state.controls[0].target, "orders");
  EXPECT_EQ(decoded->state.controls[0].bytes, "learnt");
  Encoded again;
  Encode(decoded->state, decoded->boot, again);
  EXPECT_EQ(again.bytes, bytes);
}

// Of the release before, which knew no safe rates.
TEST(SnapshotFormat, TheOneBeforeIsRead) {
  std::string bytes = Saved(*BusyEngine());
  bytes.resize(bytes.size() - sizeof(uint64_t));  // how many there are: none
  Seal(bytes, 4);
  const absl::StatusOr<Decoded> decoded = Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->state.permits.size(), 8U);
  EXPECT_EQ(decoded->state.controls.size(), 1U);
}

TEST(SnapshotFormat, SafeRatesAreKept) {
  engine::SavedState state;
  BusyEngine()->Save(At(), state);
  state.safe_rates = {{7, SomeReservation()}};
  Encoded encoded;
  Encode(state, kBoot, encoded);
  const absl::StatusOr<Decoded> decoded = Decode(encoded.bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  ASSERT_EQ(decoded->state.safe_rates.size(), 1U);
  ExpectSomeReservation(decoded->state.safe_rates[0]);
  state.safe_rates[0].reservation.rate = -1;
  Encode(state, kBoot, encoded);
  EXPECT_TRUE(absl::IsInvalidArgument(Decode(encoded.bytes).status()));
}

// Warnings and health included: the whole answer.
TEST(SnapshotFormat, ARepeatedAnswerSaysTheSameAfterwards) {
  const auto engine = BusyEngine();
  const absl::StatusOr<Decoded> decoded = Decode(Saved(*engine));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  engine::Engine restored(SmallOptions());
  ASSERT_TRUE(restored.Restore(decoded->state, At(), 0).ok());
  ASSERT_TRUE(restored.Install(BusyPolicy(), At()).ok());
  int warned = 0;
  for (const int i : {1, 2, 4, 5, 7, 8, 10, 11}) {
    const std::string identity = "job-" + std::to_string(i) + ":etl";
    const std::string id = "request " + std::to_string(i);
    engine::CheckRequest request = engine::Request(identity, i + 1);
    request.pattern = "insert";
    request.request_id = id;
    engine::CheckAnswer before;
    engine::CheckAnswer after;
    ASSERT_TRUE(engine->Check(request, At(), before).ok());
    ASSERT_TRUE(restored.Check(request, At(), after).ok());
    EXPECT_TRUE(after.repeated);
    EXPECT_EQ(after.permit, before.permit);
    EXPECT_EQ(after.predicted_cost, before.predicted_cost);
    EXPECT_EQ(after.health.profile, before.health.profile);
    EXPECT_EQ(after.health.health.speed, 0.5);
    EXPECT_EQ(after.Sentence(), before.Sentence());
    ASSERT_EQ(after.violations.size(), before.violations.size());
    warned += static_cast<int>(after.violations.size());
  }
  EXPECT_GT(warned, 0);
}

TEST(SnapshotFormat, CutShortAnywhereItIsRefused) {
  const std::string bytes = Saved(*BusyEngine());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const absl::StatusOr<Decoded> decoded = Decode(std::string_view(bytes).substr(0, length));
    ASSERT_EQ(decoded.status().code(), absl::StatusCode::kDataLoss) << length;
  }
  EXPECT_FALSE(Decode(bytes + "x").ok());
}

TEST(SnapshotFormat, WithAnyByteChangedItIsRefused) {
  std::string bytes = Saved(*BusyEngine());
  for (size_t place = 0; place < bytes.size(); ++place) {
    for (const char flipped : {'\x01', '\x80', '\xff'}) {
      bytes[place] = static_cast<char>(bytes[place] ^ flipped);
      ASSERT_FALSE(Decode(bytes).ok()) << place;
      bytes[place] = static_cast<char>(bytes[place] ^ flipped);
    }
  }
  EXPECT_TRUE(Decode(bytes).ok());
}

TEST(SnapshotFormat, OtherVersionsAreToldFromDamage) {
  std::string bytes = Saved(*BusyEngine());
  for (const uint32_t version : {kOldestFormatVersion - 1, kFormatVersion + 1}) {
    std::memcpy(bytes.data() + 8, &version, sizeof(version));
    const absl::Status status = Decode(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find(version > kFormatVersion ? "newer" : "older"),
              absl::string_view::npos)
        << status;
  }
}

TEST(SnapshotFormat, SoundButImpossibleContentsAreRefused) {
  engine::SavedState state;
  BusyEngine()->Save(At(), state);
  Encoded encoded;
  state.charges[0].cost = -1;
  Encode(state, kBoot, encoded);
  EXPECT_EQ(Decode(encoded.bytes).status().code(), absl::StatusCode::kInvalidArgument);
  Seal(encoded.bytes, kFormatVersion + 7);
  EXPECT_EQ(Decode(encoded.bytes).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SnapshotFormat, WhatAControllerLearntIsAChangeThoughNothingIsOwed) {
  engine::Engine engine(SmallOptions());
  ASSERT_TRUE(engine.Install(BusyPolicy(), At()).ok());
  const uint64_t before = FingerprintOf(engine);
  ASSERT_TRUE(engine.SetLearntControl("orders", "learnt", 0).ok());
  EXPECT_NE(FingerprintOf(engine), before);
}

TEST(SnapshotFormat, TimeAloneIsNoChangeWhereNothingIsOwed) {
  engine::Engine engine(SmallOptions());
  ASSERT_TRUE(engine.Install(BusyPolicy(), At()).ok());
  const uint64_t before = FingerprintOf(engine);
  ASSERT_TRUE(engine.SetHealth("orders", "lag", {.speed = 0.5}, At(absl::Seconds(1))).ok());
  EXPECT_EQ(FingerprintOf(engine, At(absl::Seconds(2))), before);
  engine::CheckAnswer answer;
  ASSERT_TRUE(engine.Check(engine::Request("job:etl", 1), At(absl::Seconds(2)), answer).ok());
  const uint64_t owing = FingerprintOf(engine, At(absl::Seconds(2)));
  EXPECT_NE(owing, before);
  // Somebody owes: at which speed that drains is part of it.
  ASSERT_TRUE(engine.SetHealth("orders", "lag", {.speed = 0.25}, At(absl::Seconds(2))).ok());
  EXPECT_NE(FingerprintOf(engine, At(absl::Seconds(2))), owing);
}

}  // namespace
}  // namespace headgate::snapshot
