// A store's session: it ends by its deadline wherever the server or the network hang, it tells what
// went wrong, and libpqxx owns the connection that it was given, once and no other.

#include "server/observe/postgres/session.h"

#include <dirent.h>

#include <atomic>
#include <future>
#include <memory>
#include <pqxx/result>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/observe/postgres/log_store_fixture.h"
#include "tests/testing/silent_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  static constexpr absl::Duration kSoon = absl::Milliseconds(300);
  // A busy machine may take as long beyond it. Nothing else would end these calls: their server
  // stands still, or does not answer at all.
  static constexpr absl::Duration kLate = absl::Seconds(40);
  // Of what is not to fail.
  static constexpr absl::Duration kPatience = absl::Minutes(1);
  static PostgresServer& server() { return LogDatabase::server(); }

  void TearDown() override { server().Resume(); }

  Deadline In(absl::Duration after) { return Deadline(clock_, after); }
  double Seconds() { return static_cast<double>(clock_.Read().monotonic_ns) / 1e9; }

  std::string DsnOf() const { return server().Dsn("postgres", database_.name()); }

  absl::StatusOr<std::unique_ptr<Session>> Open(const std::string& dsn,
                                                absl::Duration within = kPatience) {
    return Session::Open(connector_, {.dsn = dsn, .store = "the test"}, In(within));
  }
  std::unique_ptr<Session> Open() {
    auto session = Open(DsnOf());
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  absl::Status Run(Session& session, const std::string& sql, absl::Duration within = kPatience) {
    return session.Transact(In(within), [&](pqxx::work& work) { work.exec(sql); });
  }
  // The status of what has to end soon, and not at once.
  absl::Status Ends(absl::FunctionRef<absl::Status()> call) {
    const double began = Seconds();
    absl::Status status = call();
    EXPECT_GE(Seconds() - began, absl::ToDoubleSeconds(kSoon) - 0.05) << status;
    EXPECT_LT(Seconds() - began, absl::ToDoubleSeconds(kSoon + kLate)) << status;
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return status;
  }
  std::string BackendsSeen() {
    return server()
        .RunSql(absl::StrCat("SELECT count(*) FROM pg_stat_activity WHERE application_name ="
                             " 'headgate' AND datname = '",
                             database_.name(), "'"))
        .value()[0][0];
  }

  SystemClock clock_;
  LogDatabase database_;
  SocketWaiter waiter_;
  Connector connector_{waiter_};
};

TEST_F(SessionTest, HasItsSettingsAndTakesANameFromItsConnectionString) {
  auto session = Open(DsnOf() + " application_name=mine");
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> seen;
  const absl::Status status = (*session)->Transact(In(kPatience), [&](pqxx::work& work) {
    for (const char* const name : {"statement_timeout", "lock_timeout", "TimeZone", "jit",
                                   "client_encoding", "application_name"}) {
      seen.push_back(work.exec1(absl::StrCat("SHOW ", name))[0].as<std::string>());
    }
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(seen, testing::ElementsAre("5s", "2500ms", "UTC", "off", "UTF8", "mine"));
}

TEST_F(SessionTest, WhatFailsIsRolledBackAndTheSessionGoesOn) {
  const std::unique_ptr<Session> session = Open();
  ASSERT_TRUE(Run(*session, "CREATE TABLE public.t (i int)").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      Run(*session, "INSERT INTO public.t VALUES (1); SELECT * FROM x")));
  EXPECT_TRUE(absl::IsAborted(
      Run(*session, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")));
  EXPECT_TRUE(absl::IsAborted(
      Run(*session, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$")));
  EXPECT_TRUE(absl::IsResourceExhausted(
      Run(*session, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$")));
  EXPECT_TRUE(absl::IsDataLoss(
      Run(*session, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'XX001'; END $$")));
  EXPECT_FALSE(session->is_broken());
  EXPECT_TRUE(Run(*session, "INSERT INTO public.t VALUES (2)").ok());
  EXPECT_THAT(database_.RunSql("SELECT i FROM t"), testing::ElementsAre(testing::ElementsAre("2")));
}

TEST_F(SessionTest, ConnectingToAStoppedServerEndsByItsDeadline) {
  server().Suspend();
  const absl::Status status = Ends([&] { return Open(DsnOf(), kSoon).status(); });
  EXPECT_THAT(std::string(status.message()), HasSubstr("connecting to "));
}

TEST_F(SessionTest, ACallToAServerThatIsStoppedEndsByItsDeadline) {
  const std::unique_ptr<Session> session = Open();
  server().Suspend();
  const absl::Status status = Ends([&] { return Run(*session, "SELECT 1", kSoon); });
  EXPECT_EQ(status.message(), "the server of the test did not answer in time");
  EXPECT_TRUE(session->is_broken());
  EXPECT_TRUE(absl::IsUnavailable(Run(*session, "SELECT 1")));
  server().Resume();
  EXPECT_TRUE(Run(*Open(), "SELECT 1").ok());
}

TEST_F(SessionTest, ACallThatIsStillBeingSentEndsByItsDeadlineAndSoDoesItsSession) {
  std::unique_ptr<Session> session = Open();
  server().Suspend();
  const std::string much = absl::StrCat("SELECT '", std::string(64 << 20, 'x'), "'");
  Ends([&] {
    absl::Status status = Run(*session, much, kSoon);
    session = nullptr;
    return status;
  }).IgnoreError();
}

TEST_F(SessionTest, AnAddressThatNeverAnswersEndsByTheDeadline) {
  const SilentServer silent;
  const BlackHole black_hole;
  for (const int port : {silent.port(), black_hole.port()}) {
    const absl::Status status =
        Ends([&] { return Open(absl::StrCat("host=127.0.0.1 port=", port), kSoon).status(); });
    EXPECT_EQ(status.message(),
              absl::StrCat("connecting to 127.0.0.1:", port, ": no answer in time"));
  }
}

TEST_F(SessionTest, AHangingNameLookupEndsByTheDeadlineAndIsJoined) {
  std::promise<std::string> answer;
  const auto lookups = std::make_shared<std::atomic<int>>(0);
  Connector connector(waiter_, [lookups, coming = answer.get_future().share()](const std::string&) {
    lookups->fetch_add(1);  // sequentially consistent: a test
    return absl::StatusOr<std::vector<std::string>>({coming.get()});
  });
  const SessionOptions options = {
      .dsn = absl::StrCat("host=db port=", server().port(), " user=postgres")};
  for (int i = 0; i < 2; ++i) {
    const absl::Status status =
        Ends([&] { return Session::Open(connector, options, In(kSoon)).status(); });
    EXPECT_EQ(status.message(), "looking up host db: no answer in time");
  }
  EXPECT_EQ(lookups->load(), 1);  // sequentially consistent: a test
  answer.set_value("127.0.0.1");
  const auto session = Session::Open(connector, options, In(kPatience));
  EXPECT_TRUE(session.ok()) << session.status();
}

TEST_F(SessionTest, OneThatWasLostStaysLost) {
  const std::unique_ptr<Session> session = Open();
  server().Kill();
  ASSERT_TRUE(server().Start().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(Run(*session, "SELECT 1")));
    EXPECT_TRUE(session->is_broken());
    EXPECT_EQ(BackendsSeen(), "0");
  }
}

TEST_F(SessionTest, WithoutTimeNothingIsAskedAndNothingBreaks) {
  const std::unique_ptr<Session> session = Open();
  EXPECT_TRUE(absl::IsUnavailable(Run(*session, "CREATE TABLE public.t ()", absl::ZeroDuration())));
  EXPECT_FALSE(session->is_broken());
  EXPECT_TRUE(Run(*session, "CREATE TABLE public.t ()").ok());
}

TEST_F(SessionTest, ItsConnectionIsClosedOnceAndLeavesNothingOpen) {
  const auto open_files = [] {
    DIR* const folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count;
  };
  Open();
  const int before = open_files();
  for (int i = 0; i < 20; ++i) {
    const std::unique_ptr<Session> session = Open();
    // Its number goes to somebody else as soon as it is closed, and a second close would end that.
    EXPECT_TRUE(Run(*session, i % 2 == 0 ? "SELECT 1" : "nonsense").ok() == (i % 2 == 0));
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_TRUE(WaitUntil([&] { return BackendsSeen() == "0"; }));
}

}  // namespace
}  // namespace headgate::postgres
