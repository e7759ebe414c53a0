// What a server tells while the store is away, for an hour of fake time: its readiness, its
// metrics, and the status that it answers with. Other servers and the network are left out:
// protocol, view and what is made of it are real.

#include <headgate/v1/cluster_service.pb.h>

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/app/cluster_monitoring.h"
#include "server/serve/rpc/fleet_answers.h"
#include "server/serve/web/exposition.h"
#include "server/serve/web/metrics.h"
#include "server/share/cluster/protocol.h"
#include "server/share/cluster/view.h"
#include "tests/sim/cluster/model_store.h"

namespace headgate::app {
namespace {

using State = web::Readiness::State;
using testing::HasSubstr;
using testing::StartsWith;

constexpr absl::Duration kStep = absl::Milliseconds(100);

class StoreLossTest : public testing::Test {
 protected:
  explicit StoreLossTest(cluster::OnStoreLoss on_store_loss = cluster::OnStoreLoss::kStop)
      : protocol_(
            {.name = "a", .incarnation = 1, .address = "a:8081", .on_store_loss = on_store_loss}) {
    protocol_.SetTargets({{"orders", 1}});
  }

  // A round that fails takes no time: more of them are asked for than by a store that hangs.
  void RunFor(absl::Duration span) {
    for (absl::Duration passed; passed < span; passed += kStep, now_ += kStep) {
      for (const cluster::Action& action : protocol_.Tick(NowNs())) Do(action);
    }
  }

  web::Readiness::View Readiness() const {
    return ReadinessOf(View(), protocol_.seen().HasAny() && !protocol_.name_is_taken());
  }
  std::string Metrics() const {
    web::Exposition out;
    web::AddSharing(SharingOf(View()), out);
    return out.Text();
  }
  v1::ClusterStatus Status() const {
    v1::ClusterStatus status;
    rpc::FillCluster(View(), status);
    return status;
  }
  // The same everywhere.
  void ExpectStoreAwayFor(absl::Duration span) const {
    EXPECT_THAT(Readiness().why,
                StartsWith(absl::StrCat("the store has not answered for ",
                                        absl::FormatDuration(span), ": connection refused")));
    EXPECT_THAT(Metrics(), HasSubstr("headgate_store_up 0\n"));
    EXPECT_THAT(Metrics(), HasSubstr(absl::StrCat("headgate_store_state_seconds ",
                                                  absl::ToDoubleSeconds(span), "\n")));
    EXPECT_EQ(Status().store_error(), "connection refused");
    EXPECT_EQ(Status().store_since().seconds(), absl::ToInt64Seconds(span));
  }
  void ExpectNobodyDecides() const {
    EXPECT_THAT(Metrics(), HasSubstr("headgate_target_has_owner{target=\"orders\"} 0\n"));
    EXPECT_THAT(Metrics(), HasSubstr("headgate_target_owned{target=\"orders\"} 0\n"));
    ASSERT_EQ(Status().targets_size(), 1);
    EXPECT_EQ(Status().targets(0).owner(), "");
  }
  // As this one sees it.
  void ExpectOwner(const std::string& owner, int has_owner) const {
    EXPECT_THAT(Metrics(), HasSubstr(absl::StrCat("headgate_target_has_owner{target=\"orders\"} ",
                                                  has_owner, "\n")));
    ASSERT_EQ(Status().targets_size(), 1);
    EXPECT_EQ(Status().targets(0).owner(), owner);
  }
  std::string LastOwner() const { return View().targets.at(0).last_owner; }
  // From now on, and it goes on to be there as long as the store is.
  void AnotherServerHasIt() {
    has_other_ = true;
    for (const uint64_t generation : {uint64_t{0}, uint64_t{1}}) {
      store_.Round({.self = {.name = "b", .incarnation = 2, .address = "b:8081"},
                    .number = ++other_rounds_,
                    .lease = absl::Seconds(3),
                    .renew = {{"orders", generation}},
                    .claim = {{.target = "orders", .generation = 0}}},
                   now_);
    }
  }
  void ExpectThisServerDecides(int64_t generation) const {
    EXPECT_EQ(Readiness().state, State::kReady);
    EXPECT_THAT(Metrics(), HasSubstr("headgate_store_up 1\n"));
    EXPECT_THAT(Metrics(), HasSubstr("headgate_target_owned{target=\"orders\"} 1\n"));
    ASSERT_EQ(Status().targets_size(), 1);
    EXPECT_EQ(Status().targets(0).owner(), "a");
    EXPECT_EQ(Status().targets(0).generation(), generation);
    EXPECT_EQ(Status().store_error(), "");
  }

  bool is_store_away_ = false;
  absl::Status why_ = absl::UnavailableError("connection refused");
  int rounds_ = 0;
  bool has_other_ = false;
  uint64_t other_rounds_ = 0;

 private:
  int64_t NowNs() const { return absl::ToUnixNanos(now_); }
  cluster::ClusterView View() const { return cluster::ViewOf(protocol_, NowNs()); }

  void Do(const cluster::Action& action) {
    if (const auto* round = std::get_if<cluster::StartRound>(&action)) {
      ++rounds_;
      if (has_other_ && !is_store_away_) AnotherServerHasIt();
      if (is_store_away_) {
        protocol_.OnRound(why_, NowNs(), NowNs());
      } else {
        protocol_.OnRound(store_.Round(round->request, now_), NowNs(), NowNs());
      }
    } else if (const auto* measure = std::get_if<cluster::Measure>(&action)) {
      if (measure->wanted) {
        protocol_.OnMeasured(measure->target, cluster::Measures::kAll, "", NowNs());
      }
    } else if (const auto* take = std::get_if<cluster::Take>(&action)) {
      protocol_.OnTaken(take->held, absl::OkStatus(), NowNs());
    }
  }

  absl::Time now_ = absl::FromUnixSeconds(1'000);
  cluster::ModelStore store_;
  cluster::Protocol protocol_;
};

TEST_F(StoreLossTest, FromTheStartNobodyDecidesAndTheServerIsNotReady) {
  is_store_away_ = true;
  RunFor(absl::Seconds(1));
  ExpectStoreAwayFor(absl::Seconds(1));
  EXPECT_EQ(Readiness().state, State::kStarting);
  RunFor(absl::Hours(1) - absl::Seconds(1));
  ExpectStoreAwayFor(absl::Hours(1));
  EXPECT_EQ(Readiness().state, State::kStarting);
  ExpectNobodyDecides();
  EXPECT_EQ(Status().members_size(), 0);
  EXPECT_THAT(Metrics(), HasSubstr("headgate_members 0\n"));
}

TEST_F(StoreLossTest, OnceItAnswersAfterAnHourTheServerIsReadyAndDecides) {
  is_store_away_ = true;
  RunFor(absl::Hours(1));
  is_store_away_ = false;
  RunFor(absl::Seconds(10));
  ExpectThisServerDecides(1);
}

TEST_F(StoreLossTest, LostLaterTheServerIsDegradedAndSaysWhoDecidesUntilItsLeaseEnds) {
  RunFor(absl::Seconds(10));
  ExpectThisServerDecides(1);
  is_store_away_ = true;
  RunFor(absl::Seconds(1));
  EXPECT_EQ(Readiness().state, State::kDegraded);
  EXPECT_THAT(Metrics(), HasSubstr("headgate_target_owned{target=\"orders\"} 1\n"));
  RunFor(absl::Seconds(1));
  ExpectNobodyDecides();
  for (int minutes = 0; minutes < 60; ++minutes) {
    RunFor(absl::Minutes(1));
    EXPECT_EQ(Readiness().state, State::kDegraded) << minutes;
    ExpectNobodyDecides();
  }
  EXPECT_GT(Status().store_since().seconds(), 3'600);
  EXPECT_EQ(Status().store_error(), "connection refused");
}

// Another one may have been given the target since.
TEST_F(StoreLossTest, WhoDecidedLongAgoIsNotSaidToDecide) {
  AnotherServerHasIt();
  RunFor(absl::Seconds(10));
  ExpectOwner("b", 1);
  is_store_away_ = true;
  RunFor(absl::Seconds(2));
  ExpectOwner("b", 1);
  RunFor(absl::Minutes(2));
  ExpectOwner("", 0);
  EXPECT_EQ(LastOwner(), "b");  // who is asked all the same
  is_store_away_ = false;
  AnotherServerHasIt();
  RunFor(absl::Seconds(1));
  ExpectOwner("b", 1);
}

// Hung instead of gone, and gone again: it has been away all the time.
TEST_F(StoreLossTest, HowItFailsMakesNoDifferenceToHowLongItHasBeenAway) {
  RunFor(absl::Seconds(10));
  is_store_away_ = true;
  RunFor(absl::Minutes(10));
  why_ = absl::DeadlineExceededError("connection refused");
  RunFor(absl::Minutes(10));
  EXPECT_GE(Status().store_since().seconds(), 20 * 60 - 1);
}

// It goes on with what it has: nobody else was there to take it.
TEST_F(StoreLossTest, LostForAnHourTheServerDecidesAgainAsTheSameOwner) {
  RunFor(absl::Seconds(10));
  is_store_away_ = true;
  RunFor(absl::Hours(1));
  is_store_away_ = false;
  RunFor(absl::Seconds(1));
  ExpectThisServerDecides(1);
}

class KeptStoreLossTest : public StoreLossTest {
 protected:
  KeptStoreLossTest() : StoreLossTest(cluster::OnStoreLoss::kKeep) {}
};

// Nobody else is there who could take what it has.
TEST_F(KeptStoreLossTest, LostForAnHourTheServerDecidesOnAndSaysSo) {
  RunFor(absl::Seconds(10));
  EXPECT_THAT(Metrics(), HasSubstr("headgate_decides_without_store 0\n"));
  is_store_away_ = true;
  RunFor(absl::Hours(1));
  EXPECT_EQ(Readiness().state, State::kDegraded);
  EXPECT_THAT(Readiness().why, HasSubstr("; targets are decided for, as all servers agree"));
  EXPECT_THAT(Metrics(), HasSubstr("headgate_decides_without_store 1\n"));
  EXPECT_THAT(Metrics(), HasSubstr("headgate_target_owned{target=\"orders\"} 1\n"));
  EXPECT_TRUE(Status().decides_on());
  EXPECT_EQ(Status().targets(0).owner(), "a");
  is_store_away_ = false;
  RunFor(absl::Seconds(1));
  ExpectThisServerDecides(1);
  EXPECT_FALSE(Status().decides_on());
}

// A store that is overloaded is not asked more often for it.
TEST_F(StoreLossTest, ItIsAskedNoMoreOftenThanEver) {
  RunFor(absl::Minutes(1));
  const int usual = rounds_;
  is_store_away_ = true;
  rounds_ = 0;
  RunFor(absl::Minutes(1));
  EXPECT_GT(rounds_, 0);
  EXPECT_LE(rounds_, usual + 2);
}

}  // namespace
}  // namespace headgate::app
