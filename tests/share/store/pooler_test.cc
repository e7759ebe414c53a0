// The store behind a connection pooler: it works where it can, within its limits of time, leaves
// nothing in a session that somebody else gets next, and says that there is a pooler.

#include <cstdint>
#include <memory>
#include <optional>
#include <pqxx/result>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/share/store/override_store.h"
#include "server/share/store/postgres_store.h"
#include "tests/share/store/store_database.h"
#include "tests/testing/postgres_bouncer.h"

namespace headgate::store {
namespace {

using testing::HasSubstr;

constexpr char kAdvice[] = "put PostgreSQL's own host and port into the connection string";

class StorePooler : public testing::Test {
 protected:
  void SetUp() override {
    if (absl::StatusOr<std::string> program = PostgresBouncer::Program(); !program.ok()) {
      GTEST_SKIP() << program.status().message();
    }
    database_.emplace();
  }

  void Start(const std::string& mode) {
    auto started =
        PostgresBouncer::Start(StoreDatabase::folder(), StoreDatabase::server(), {.mode = mode});
    ASSERT_TRUE(started.ok()) << started.status();
    bouncer_ = *std::move(started);
  }
  std::string Dsn() const { return bouncer_->Dsn("postgres", database_->name()); }
  TransactorOptions Options() {
    TransactorOptions options = database_->Options();
    options.dsn = [dsn = Dsn()] { return dsn; };
    options.on_note = [this](const std::string& note) { note_ = note; };
    return options;
  }
  std::string LeftBehind() const {
    const absl::StatusOr<std::string> left = bouncer_->LeftBehind("postgres", database_->name());
    EXPECT_TRUE(left.ok()) << left.status();
    return left.value_or("?");
  }
  absl::StatusOr<cluster::RoundReply> Ask(PostgresStore& store) {
    cluster::RoundRequest request;
    request.self = {.name = "a", .incarnation = 5, .address = "a:8083"};
    request.number = ++rounds_;
    request.lease = absl::Minutes(1);
    request.claim = {{.target = "main"}};
    return store.Round(request, kLong);
  }

  SystemClock clock_;
  std::optional<StoreDatabase> database_;
  std::unique_ptr<PostgresBouncer> bouncer_;
  std::string note_;
  uint64_t rounds_ = 0;
};

TEST_F(StorePooler, RoundsStatesAndOverridesWorkAndNothingIsLeftBehind) {
  for (const char* const mode : {"session", "transaction"}) {
    Start(mode);
    PostgresStore store(Options(), clock_);
    const auto reply = Ask(store);
    ASSERT_TRUE(reply.ok()) << mode << ": " << reply.status();
    ASSERT_EQ(reply->ownership.size(), 1u);
    EXPECT_EQ(reply->ownership[0].owner, "a");
    const uint64_t generation = reply->ownership[0].generation;
    const std::string bytes("\0state", 6);
    const cluster::StateWrite write = {.target = "main",
                                       .generation = generation,
                                       .sequence = rounds_,
                                       .kind = cluster::StateWrite::Kind::kWhole,
                                       .age = absl::ZeroDuration(),
                                       .bytes = bytes};
    for (const absl::Status& status : store.WriteStates({&write, 1}, kLong)) {
      EXPECT_TRUE(status.ok()) << mode << ": " << status;
    }
    const cluster::Held held = {.target = "main", .generation = generation};
    const auto states = store.ReadStates({&held, 1}, kLong);
    ASSERT_TRUE(states[0].ok() && states[0]->has_value()) << mode;
    EXPECT_EQ((*states[0])->whole, bytes);
    OverrideStore overrides(Options(), clock_, kLong);
    EXPECT_TRUE(overrides.Read().ok());
    EXPECT_EQ(LeftBehind(), "") << mode;
    EXPECT_THAT(note_, HasSubstr(kAdvice));
  }
}

// By PostgreSQL itself, not by whoever waits for it.
TEST_F(StorePooler, StatementsHaveTheirLimit) {
  Start("transaction");
  TransactorOptions options = Options();
  options.statement_timeout = absl::Milliseconds(200);
  Transactor transactor(options, clock_);
  for (const Scope scope : {Scope::kStatement, Scope::kTransaction}) {
    const absl::Status status = transactor.Run(
        scope, kLong, [](pqxx::transaction_base& work) { work.exec("SELECT pg_sleep(600)"); });
    EXPECT_THAT(std::string(status.message()), HasSubstr("statement timeout"));
  }
  EXPECT_EQ(LeftBehind(), "");
}

TEST_F(StorePooler, SingleStatementsAreRefusedWithWhatToDo) {
  Start("statement");
  PostgresStore store(Options(), clock_);
  const absl::Status status = Ask(store).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("hands out single statements"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(kAdvice));
}

TEST_F(StorePooler, IsSaidByTheCommands) {
  Start("transaction");
  AdminOptions options = database_->Admin();
  options.on_note = [this](const std::string& note) { note_ = note; };
  EXPECT_TRUE(Check(options, clock_).ok());
  EXPECT_EQ(note_, "");
  options.dsn = Dsn();
  EXPECT_TRUE(Check(options, clock_).ok());
  EXPECT_THAT(note_, HasSubstr(kAdvice));
}

}  // namespace
}  // namespace headgate::store
