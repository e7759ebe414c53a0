#include "server/remember/snapshot/snapshot_writer.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/remember/snapshot/atomic_file.h"
#include "tests/remember/snapshot/busy_engine.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::snapshot {
namespace {

using engine::At;

constexpr BootId kOneBoot = {1};
constexpr BootId kAnotherBoot = {2};

Now Times(int64_t monotonic_s, int64_t wall_s) {
  return {.monotonic_ns = monotonic_s * 1'000'000'000, .wall_ns = wall_s * 1'000'000'000};
}

class SnapshotWriterTest : public testing::Test {
 protected:
  SnapshotWriterOptions Options(const std::string& path) { return {.path = path}; }
  std::string path() const { return folder_.File("engine.snapshot"); }
  void Spoil(const std::string& text) const { std::ofstream(path()) << text; }

  const TempFolder folder_;
  FakeClock clock_;
};

TEST_F(SnapshotWriterTest, WhatOneKeepsTheNextOneLoads) {
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(path()), *engine, clock_);
  EXPECT_TRUE(writer.Round());
  clock_.Advance(absl::Seconds(3));
  const Loaded loaded = Load(path(), clock_.Read());
  ASSERT_TRUE(loaded.state.has_value()) << loaded.refused;
  EXPECT_EQ(loaded.elapsed_ns, 3'000'000'000);
  EXPECT_EQ(loaded.state->permits.size(), 8U);
  struct stat about = {};
  ASSERT_EQ(stat(path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(SnapshotWriterTest, WithoutAFileThereIsNothingToSay) {
  const Loaded loaded = Load(path(), clock_.Read());
  EXPECT_FALSE(loaded.state.has_value());
  EXPECT_TRUE(loaded.refused.ok());
}

TEST_F(SnapshotWriterTest, WhatIsNoSnapshotIsSetAside) {
  Spoil("to be, or not to be");
  const Loaded loaded = Load(path(), clock_.Read());
  EXPECT_FALSE(loaded.state.has_value());
  EXPECT_TRUE(absl::IsDataLoss(loaded.refused)) << loaded.refused;
  EXPECT_EQ(loaded.set_aside, path() + ".refused");
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_TRUE(std::filesystem::exists(loaded.set_aside));
}

TEST_F(SnapshotWriterTest, WhatCannotBeReadIsLeftAlone) {
  const auto engine = BusyEngine();
  ASSERT_TRUE(SnapshotWriter(Options(path()), *engine, clock_).Round());
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const Loaded loaded = Load(path(), clock_.Read());
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_TRUE(absl::IsUnavailable(loaded.unreadable)) << loaded.unreadable;
  EXPECT_NE(loaded.unreadable.message().find("Too many open files"), absl::string_view::npos);
  EXPECT_TRUE(loaded.refused.ok()) << loaded.refused;
  // It is sound.
  EXPECT_TRUE(Load(path(), clock_.Read()).state.has_value());
}

TEST_F(SnapshotWriterTest, WhatWasSetAsideBeforeStaysThere) {
  for (const char* name : {".refused", ".refused.1", ".refused.2"}) {
    Spoil(name);
    EXPECT_EQ(Load(path(), clock_.Read()).set_aside, path() + name);
  }
  std::string first;
  std::ifstream(path() + ".refused") >> first;
  EXPECT_EQ(first, ".refused");
}

TEST_F(SnapshotWriterTest, WhatCannotBeSetAsideIsNotOverwritten) {
  for (int i = 0; i < 10; ++i) {
    Spoil("earlier");
    ASSERT_NE(Load(path(), clock_.Read()).set_aside, "");
  }
  Spoil("evidence");
  const Loaded loaded = Load(path(), clock_.Read());
  EXPECT_TRUE(absl::IsDataLoss(loaded.refused)) << loaded.refused;
  EXPECT_EQ(loaded.set_aside, "");
  const auto engine = BusyEngine();
  SnapshotWriterOptions options = Options(path());
  options.in_the_way = true;
  SnapshotWriter writer(options, *engine, clock_);
  EXPECT_FALSE(writer.Round());
  EXPECT_TRUE(absl::IsAlreadyExists(writer.State().status)) << writer.State().status;
  std::filesystem::remove(path() + ".refused.4");
  EXPECT_TRUE(writer.Round());
  std::string kept;
  std::ifstream(path() + ".refused.4") >> kept;
  EXPECT_EQ(kept, "evidence");
  EXPECT_TRUE(Load(path(), clock_.Read()).state.has_value());
}

TEST_F(SnapshotWriterTest, APipeIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  const Loaded loaded = Load(path(), clock_.Read());
  EXPECT_TRUE(absl::IsDataLoss(loaded.refused)) << loaded.refused;
}

TEST_F(SnapshotWriterTest, ADraftThatIsALinkIsNotFollowed) {
  const std::string other = folder_.File("other");
  std::ofstream(other) << "precious";
  std::filesystem::create_symlink(other, path() + ".new");
  ASSERT_TRUE(Replace(path(), "bytes").ok());
  EXPECT_FALSE(std::filesystem::is_symlink(path()));
  std::string text;
  std::ifstream(other) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(SnapshotWriterTest, AFileOfTheFutureIsRefused) {
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(path()), *engine, clock_);
  ASSERT_TRUE(writer.Round());
  clock_.AdvanceWall(-absl::Hours(25));
  const Loaded loaded = Load(path(), clock_.Read());
  EXPECT_FALSE(loaded.state.has_value());
  EXPECT_NE(loaded.refused.message().find("in the future"), absl::string_view::npos);
}

TEST(SnapshotElapsed, IsTheLeastThatTheClocksAgreeOn) {
  const Now then = Times(1000, 5000);
  EXPECT_EQ(*ElapsedSince(then, kOneBoot, Times(1010, 5010), kOneBoot), 10'000'000'000);
  // The wall clock was set ahead, or the monotonic one stood still while the machine slept.
  EXPECT_EQ(*ElapsedSince(then, kOneBoot, Times(1010, 9000), kOneBoot), 10'000'000'000);
  EXPECT_EQ(*ElapsedSince(then, kOneBoot, Times(1900, 5010), kOneBoot), 10'000'000'000);
  // Another start of the machine, or another machine: its monotonic time means nothing.
  EXPECT_EQ(*ElapsedSince(then, kOneBoot, Times(3, 5060), kAnotherBoot), 60'000'000'000);
  EXPECT_EQ(*ElapsedSince(then, {}, Times(3, 5060), {}), 60'000'000'000);
  // The wall clock was set back.
  EXPECT_EQ(*ElapsedSince(then, kOneBoot, Times(1010, 4000), kOneBoot), 0);
  EXPECT_EQ(*ElapsedSince(then, kOneBoot, Times(10, 4000), kAnotherBoot), 0);
}

TEST_F(SnapshotWriterTest, WritesOnlyWhatHasChanged) {
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(path()), *engine, clock_);
  EXPECT_TRUE(writer.Round());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_FALSE(writer.Round());
  EXPECT_EQ(writer.State().writes, 1);
  EXPECT_EQ(writer.State().as_of_ns, clock_.Read().monotonic_ns);
  engine::CheckAnswer answer;
  ASSERT_TRUE(engine->Check(engine::Request("new:etl", 1), clock_.Read(), answer).ok());
  EXPECT_TRUE(writer.Round());
  EXPECT_EQ(writer.State().writes, 2);
}

TEST_F(SnapshotWriterTest, StopWritesWhatThereIsThen) {
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(path()), *engine, clock_);
  writer.Start();
  ASSERT_TRUE(WaitUntil([&] { return writer.State().writes > 0; }));
  engine::CheckAnswer answer;
  ASSERT_TRUE(engine->Check(engine::Request("new:etl", 1), clock_.Read(), answer).ok());
  writer.Stop();
  const Loaded loaded = Load(path(), clock_.Read());
  ASSERT_TRUE(loaded.state.has_value()) << loaded.refused;
  EXPECT_EQ(loaded.state->permits.size(), 9U);
}

TEST_F(SnapshotWriterTest, AFileThatIsGoneOrAnotherOneIsWrittenAgain) {
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(path()), *engine, clock_);
  ASSERT_TRUE(writer.Round());
  ASSERT_FALSE(writer.Round());
  std::filesystem::remove(path());
  EXPECT_TRUE(writer.Round());
  ASSERT_FALSE(writer.Round());
  std::filesystem::copy_file(path(), path() + ".copy");
  std::filesystem::rename(path() + ".copy", path());
  EXPECT_TRUE(writer.Round());
  std::filesystem::resize_file(path(), 200);
  EXPECT_TRUE(writer.Round());
  EXPECT_TRUE(Load(path(), clock_.Read()).state.has_value());
}

TEST_F(SnapshotWriterTest, StopWritesThoughNothingHasChanged) {
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(path()), *engine, clock_);
  ASSERT_TRUE(writer.Round());
  writer.Stop();
  EXPECT_EQ(writer.State().writes, 2);
}

TEST(SnapshotWriterPace, ALongWriteMakesTheNextOneBeginSooner) {
  const SnapshotWriterOptions options;
  const auto ms = [](int count) { return absl::Milliseconds(count); };
  EXPECT_EQ(SnapshotWriter::NextRoundAfter(ms(5), options), ms(750));
  EXPECT_EQ(SnapshotWriter::NextRoundAfter(ms(148), options), ms(750));
  EXPECT_EQ(SnapshotWriter::NextRoundAfter(ms(400), options), ms(600));
  EXPECT_EQ(SnapshotWriter::NextRoundAfter(ms(2000), options), ms(0));
}

TEST_F(SnapshotWriterTest, ADiskWithoutRoomIsSaidAndTriedAgain) {
  const SmallDisk disk(folder_.File("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small disk takes root";
  const auto engine = BusyEngine();
  std::vector<bool> changes;
  SnapshotWriterOptions options = Options(disk.File("engine.snapshot"));
  options.on_change = [&](const absl::Status& status) { changes.push_back(status.ok()); };
  SnapshotWriter writer(options, *engine, clock_);
  ASSERT_TRUE(writer.Round());
  disk.Fill();
  engine::CheckAnswer answer;
  ASSERT_TRUE(engine->Check(engine::Request("new:etl", 1), clock_.Read(), answer).ok());
  EXPECT_FALSE(writer.Round());
  EXPECT_TRUE(absl::IsResourceExhausted(writer.State().status)) << writer.State().status;
  EXPECT_FALSE(writer.Round());
  EXPECT_EQ(writer.State().failures, 2);
  // What was written before is still there, whole.
  EXPECT_EQ(Load(options.path, clock_.Read()).state->permits.size(), 8U);
  disk.MakeRoom();
  EXPECT_TRUE(writer.Round());
  EXPECT_TRUE(writer.State().status.ok());
  EXPECT_EQ(Load(options.path, clock_.Read()).state->permits.size(), 9U);
  EXPECT_EQ(changes, (std::vector<bool>{false, true}));
}

TEST_F(SnapshotWriterTest, AReadOnlyDiskIsSaid) {
  const SmallDisk disk(folder_.File("disk"));
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small disk takes root";
  disk.MakeReadOnly();
  const auto engine = BusyEngine();
  SnapshotWriter writer(Options(disk.File("engine.snapshot")), *engine, clock_);
  EXPECT_FALSE(writer.Round());
  EXPECT_TRUE(absl::IsPermissionDenied(writer.State().status)) << writer.State().status;
}

}  // namespace
}  // namespace headgate::snapshot
