// Callers who send little and keep what comes of it: calls that are begun and never end, and
// handshakes of which nothing but an announced size comes. The server stays within a small memory,
// and honest jobs beside them, also one whose messages are larger than all of that, notice nothing.

#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/govern/tls/flooded_server.h"
#include "tests/govern/tls/flooding_caller.h"
#include "tests/govern/tls/raw_caller.h"
#include "tests/testing/running_headgated.h"

namespace headgate::tls {
namespace {

using Over = FloodingCaller::Over;

constexpr char kHeldMethod[] = "/headgate.v1.ThrottlerService/Check";

class HeldOpenFlood : public testing::Test {
 protected:
  void Start(Over over) {
    HeadgatedOptions options = flooded_.Options(over);
    options.http_address = "127.0.0.1:0";
    server_ = std::make_unique<RunningHeadgated>(options);
    job_ = std::make_unique<JobBeside>(flooded_.Connect(*server_, over));
    batches_ = std::make_unique<JobBeside>(flooded_.Connect(*server_, over), 1000);
    ASSERT_TRUE(WaitUntil([&] { return job_->calls() > 4 && batches_->calls() > 4; }));
    before_mib_ = MemoryOf(*server_).rss_mib;
  }
  // Once both jobs have gone on for a while beside what is held.
  void ExpectUnharmed() {
    const int calls = job_->calls(), batches = batches_->calls();
    EXPECT_TRUE(
        WaitUntil([&] { return job_->calls() > calls + 40 && batches_->calls() > batches + 20; }));
    EXPECT_LT(MemoryOf(*server_).peak_mib - before_mib_, kMostTakenMiB);
    for (JobBeside* job : {job_.get(), batches_.get()}) {
      job->End();
      EXPECT_TRUE(job->errors().empty())
          << job->errors().size() << " of " << job->calls() << ", " << job->errors()[0];
    }
  }

  const FloodedServer flooded_;
  std::unique_ptr<RunningHeadgated> server_;
  std::unique_ptr<JobBeside> job_, batches_;
  double before_mib_ = 0;
};

template <typename Callers>
int CountClosed(const Callers& callers) {
  return static_cast<int>(
      std::ranges::count_if(callers, [](const auto& caller) { return caller.IsClosed(); }));
}

// As many as a connection may have, and a frame between them that gRPC answers by itself.
TEST_F(HeldOpenFlood, OfCallsThatNeverEnd) {
  Start(Over::kPlaintext);
  std::deque<FloodingCaller> callers;
  for (int i = 0; i < 150; ++i) {
    FloodingCaller& caller = callers.emplace_back(server_->port(), Over::kPlaintext);
    std::string frames = kPreface;
    for (uint32_t call = 0; call < 120; ++call) {
      frames += Headers(2 * call + 1, kHeldMethod) + Frame(4, 0, 0, "");
    }
    caller.Send(frames);
  }
  // Of 18,000 calls 12,000 may be open, and the connections of the others are ended.
  EXPECT_TRUE(WaitUntil([&] { return CountClosed(callers) >= 40; })) << CountClosed(callers);
  ExpectUnharmed();
}

// The handshake's first nine bytes: a record of a ClientHello of so many bytes.
std::string AnnouncedHello() { return std::string("\x16\x03\x01\x40\x00\x01\x02\x00\x00", 9); }

// As many connections to each port as this process may have, which the server inherits.
int MostConnections() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const auto most = static_cast<int>(std::min<rlim_t>(files.rlim_max, 1 << 20));
  return std::min(1300, (most - 256) / 2);
}

TEST_F(HeldOpenFlood, OfHandshakesThatAnnounceMuch) {
  const int most = MostConnections();
  Start(Over::kTls);
  std::deque<Raw> to_grpc, to_http;
  for (int i = 0; i < most; ++i) {
    to_grpc.emplace_back(server_->port()).SendAll(AnnouncedHello());
    to_http.emplace_back(server_->http_port()).SendAll(AnnouncedHello());
  }
  // Each port has places for so many, and whoever was there longest has made room.
  EXPECT_TRUE(WaitUntil([&] { return CountClosed(to_grpc) >= most - 384; }))
      << CountClosed(to_grpc) << " of " << most;
  EXPECT_TRUE(WaitUntil([&] { return CountClosed(to_http) >= most - 128; }))
      << CountClosed(to_http) << " of " << most;
  ExpectUnharmed();
}

}  // namespace
}  // namespace headgate::tls
