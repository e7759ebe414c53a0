#include "tests/testing/action_trace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/decide/engine/engine.h"
#include "tests/testing/reference_model.h"
#include "tests/testing/trace_bytes.h"
#include "tests/testing/trace_compare.h"
#include "tests/testing/trace_pool.h"

namespace headgate::model {
namespace {

using engine::CheckAnswer;
using engine::CheckRequest;
using engine::PermitId;

struct KindShare {
  ActionKind kind;
  int bytes;  // of 256
  std::string_view name;
};
constexpr std::array<KindShare, kActionKinds> kShares = {{
    {ActionKind::kCheck, 112, "check"},
    {ActionKind::kBatch, 16, "batch"},
    {ActionKind::kExplain, 12, "explain"},
    {ActionKind::kReport, 44, "report"},
    {ActionKind::kReportWrong, 6, "wrong report"},
    {ActionKind::kAdvance, 32, "advance"},
    {ActionKind::kWait, 12, "wait"},
    {ActionKind::kStepWall, 4, "step the wall clock"},
    {ActionKind::kJump, 2, "jump"},
    {ActionKind::kHealth, 8, "set health"},
    {ActionKind::kAutoRate, 4, "set auto rate"},
    {ActionKind::kInstall, 4, "install"},
}};

constexpr std::array<const char*, 9> kReasonTallies = {
    "allowed",        "allowed: exempt",  "denied: deny rule",       "denied: reject ratio",
    "denied: health", "denied: max cost", "denied: max concurrency", "denied: capacity",
    "denied: permits"};

class TraceRunner {
 public:
  TraceRunner(absl::Span<const uint8_t> bytes, Tally& tally, uint64_t restart_one_in)
      : bytes_(bytes),
        tally_(tally),
        restart_one_in_(restart_one_in),
        family_(bytes_.Below(kFamilies)),
        engine_(std::make_unique<engine::Engine>(OptionsFor(family_))),
        model_(OptionsFor(family_).permit_ttl) {}

  std::string Run() {
    if (!bytes_.Bit(4)) Install(0);
    // A batch makes up to four permits.
    for (int step = 1; !bytes_.AtEnd() && permits_.size() + 4 <= kPermitsPerTrace; ++step) {
      const ActionKind kind = KindOf(bytes_.Byte());
      Count(absl::StrCat("action: ", Sv(NameOf(kind))));
      Act(kind);
      if (wrong_.empty() && restart_one_in_ > 0 && random_() % restart_one_in_ == 0) Restart();
      if (!wrong_.empty()) {
        return absl::StrCat("step ", step, ": ", words_, "\n  at ", now_.monotonic_ns,
                            " ns, policy '", policy_, "'\n", wrong_);
      }
    }
    return "";
  }

 private:
  void Count(std::string_view what, uint64_t times = 1) {
    const auto it = tally_.find(what);
    if (it == tally_.end()) {
      tally_.emplace(what, times);
    } else {
      it->second += times;
    }
  }

  void Wrong(std::string_view what) { absl::StrAppend(&wrong_, Sv(what)); }
  void Expect(std::string_view what, absl::StatusCode expected, absl::StatusCode actual) {
    if (expected == actual) return;
    Wrong(absl::StrCat("  ", Sv(what), "\n    model:  ", absl::StatusCodeToString(expected),
                       "\n    engine: ", absl::StatusCodeToString(actual), "\n"));
  }

  void Act(ActionKind kind) {
    switch (kind) {
      case ActionKind::kCheck:
        return Check(bytes_.Request(family_));
      case ActionKind::kBatch:
        return Batch();
      case ActionKind::kExplain:
        return Explain(bytes_.Request(family_));
      case ActionKind::kReport:
        return ReportKnown();
      case ActionKind::kReportWrong:
        return ReportWrong();
      case ActionKind::kAdvance:
        return Advance();
      case ActionKind::kWait:
        return Wait();
      case ActionKind::kStepWall:
        return StepWall();
      case ActionKind::kJump:
        return Jump();
      case ActionKind::kHealth:
        return SetHealth();
      case ActionKind::kAutoRate:
        return SetAutoRate();
      case ActionKind::kInstall:
        model_.ChargeSafeRates(now_);
        return Install(static_cast<size_t>(bytes_.Below(Policies(family_).size())));
    }
  }

  // Some time passes in between, as it does for the model.
  void Restart() {
    if (policy_.empty()) return;
    words_ = "restart";
    static constexpr std::array<int64_t, 4> kDown = {0, 1, 700'000'000, 5'000'000'000};
    engine::SavedState state;
    model_.ChargeSafeRates(now_);
    engine_->Save(now_, state);
    const int64_t then_ns = std::clamp<int64_t>(now_.monotonic_ns, 0, ModelClock::kEndNs);
    Pass(kDown[random_() % kDown.size()]);
    // Time has an end, where it stands still for the model.
    const int64_t down_ns = std::clamp<int64_t>(now_.monotonic_ns, 0, ModelClock::kEndNs) - then_ns;
    engine_ = std::make_unique<engine::Engine>(OptionsFor(family_));
    const absl::Status restored = engine_->Restore(state, now_, down_ns);
    if (!restored.ok()) Wrong(absl::StrCat("  not restored: ", restored.ToString(), "\n"));
    model_.Restart(now_);
    Count("restarted");
    issued_before_restart_ = permits_.size();
    Install(policy_place_);
  }

  void Check(const CheckRequest& request) {
    words_ = absl::StrCat(request.lease == nullptr ? "check " : "lease ", Describe(request));
    model_.ChargeSafeRates(now_);
    const Decision expected = model_.Decide(request, now_, Purpose::kCheck);
    const absl::Status status = engine_->Check(request, now_, answer_);
    Judge(request, expected, status, answer_);
  }

  void Judge(const CheckRequest& request, const Decision& expected, const absl::Status& status,
             const CheckAnswer& answer) {
    Wrong(CompareAnswers(expected, status, answer));
    if (!wrong_.empty()) return;
    if (!status.ok())
      return Count(absl::StrCat("error: ", absl::StatusCodeToString(status.code())));
    Count(kReasonTallies[static_cast<size_t>(answer.reason)]);
    for (const ExpectedViolation& violation : expected.answer.violations) {
      if (violation.warn) Count("warned");
    }
    if (!expected.lifted.empty()) Count("resumed");
    const bool by_rule =
        answer.reason == engine::Reason::kDenyRule || answer.reason == engine::Reason::kRejectRatio;
    if (by_rule && !expected.resumed_by.contains(engine::kNoRule)) Count("stopped after a resume");
    if (expected.answer.probe) Count("probed");
    if (expected.answer.predicted_busy_time.has_value()) Count("charged busy time");
    if (answer.verdict == engine::Verdict::kDenied) {
      if (answer.permit != 0) Wrong("  a denial has a permit\n");
      denied_ = request;
      wait_ = answer.retry_after;
      return;
    }
    if (expected.repeats != 0) return Count("repeated by request id");
    if (expected.buckets.empty() || answer.reason == engine::Reason::kExempt) {
      if (answer.permit != 0) Wrong("  there is a permit though no rule charges\n");
      return Count("without a permit");
    }
    if (answer.permit == 0 ||
        std::find(permits_.begin(), permits_.end(), answer.permit) != permits_.end()) {
      return Wrong(absl::StrCat("  permit ", answer.permit, " is not new\n"));
    }
    const double safe_rate = request.lease == nullptr ? 0 : answer.grant.safe_rate;
    model_.Admit(expected, answer.permit, safe_rate, now_);
    permits_.push_back(answer.permit);
    if (request.lease == nullptr) {
      costs_.push_back(request.estimated_cost.value_or(answer.predicted_cost));
    } else {
      const bool is_whole = answer.grant.amount == *request.estimated_cost;
      Count(is_whole ? "leased" : "leased in part");
      if (safe_rate > 0) Count("leased with a safe rate");
      costs_.push_back(answer.grant.amount);
      leases_.insert(answer.permit);
    }
  }

  void Batch() {
    std::vector<CheckRequest> requests = {bytes_.Request(family_)};
    const int more = bytes_.Below(4);
    for (int i = 0; i < more; ++i)
      requests.push_back(bytes_.Bit(1) ? bytes_.Request(family_) : requests.back());
    std::vector<CheckAnswer> answers(requests.size());
    std::vector<absl::Status> statuses(requests.size());
    model_.ChargeSafeRates(now_);
    engine_->CheckBatch(requests, now_, absl::MakeSpan(answers), absl::MakeSpan(statuses));
    for (size_t i = 0; i < requests.size() && wrong_.empty(); ++i) {
      words_ = absl::StrCat("check ", i + 1, " of a batch of ", requests.size(), ": ",
                            Describe(requests[i]));
      Judge(requests[i], model_.Decide(requests[i], now_, Purpose::kCheck), statuses[i],
            answers[i]);
    }
  }

  void Explain(CheckRequest request) {
    request.lease = nullptr;  // it explains one piece
    words_ = absl::StrCat("explain ", Describe(request));
    model_.ChargeSafeRates(now_);
    const Decision expected = model_.Decide(request, now_, Purpose::kExplain);
    const absl::StatusOr<engine::Explanation> once = engine_->Explain(request, now_);
    if (!once.ok()) return Wrong(CompareAnswers(expected, once.status(), {}));
    Wrong(CompareExplanations(expected, *once));
    const absl::StatusOr<engine::Explanation> again = engine_->Explain(request, now_);
    if (!again.ok()) return Wrong("  the second explanation fails\n");
    Wrong(CompareExplanations(expected, *again));
    if (Describe(*once) != Describe(*again)) Wrong("  the second explanation differs\n");
  }

  void Report(PermitId permit, double cost) {
    engine::ActualCost actual{.busy_time = bytes_.From(BusyTimes())};
    if (!bytes_.Bit(3)) actual.cost = cost;
    if (leases_.contains(permit)) {
      static constexpr std::array<int64_t, 4> kPieces = {1, 3, 1000, 1};
      actual.spent = {.estimate = cost, .pieces = cost == 0 ? 0 : bytes_.From(kPieces)};
      if (bytes_.Bit(1)) actual.cost.reset();
      if (cost > 0 && bytes_.Bit(2)) {
        actual.spent->safe_estimate = cost / 2;
        Count("returned a lease that was spent safely");
      }
      Count("returned a lease");
    }
    Report(permit, actual);
  }

  void Report(PermitId permit, const engine::ActualCost& actual) {
    words_ = absl::StrCat(
        "report ", actual.cost.has_value() ? absl::StrCat(*actual.cost) : "no cost", " and ",
        actual.busy_time.has_value() ? absl::FormatDuration(*actual.busy_time) : "no busy time",
        actual.spent.has_value() ? absl::StrCat(", ", actual.spent->estimate, " spent in ",
                                                actual.spent->pieces, " pieces,")
                                 : "",
        " for permit ", std::find(permits_.begin(), permits_.end(), permit) - permits_.begin());
    model_.ChargeSafeRates(now_);
    const Reported expected = model_.Report(permit, actual, now_);
    const absl::StatusOr<engine::Settlement> settled = engine_->Report(permit, actual, now_);
    Expect("status", expected.code, settled.status().code());
    if (!settled.ok() || !wrong_.empty()) return;
    if (settled->outcome != expected.outcome) Wrong("  the outcomes differ\n");
    if (expected.outcome == engine::ReportOutcome::kAlreadySettled) return Count("reported again");
    if (expected.late) Count("reported late");
    for (const ModelLedger::Settled& charge : expected.charges) {
      if (charge.refund_ns > 0) Count(charge.moved ? "refund after a move" : "refund");
      if (charge.refund_ns > 0 && expected.late) Count("late refund");
      if (charge.extra_ns > 0) Count(charge.moved ? "extra cost after a move" : "extra cost");
      if (charge.moved_often) Count("settled after several moves");
      if (charge.overrun) Count("overrun");
      if (charge.forgiven) Count("debt forgiven");
    }
  }

  void ReportKnown() {
    if (permits_.empty()) return Report(0, 1);
    // Mostly one of the latest: the others have mostly been reported.
    const size_t back = static_cast<size_t>(bytes_.Below(bytes_.Bit(2) ? permits_.size() : 8));
    const size_t place = permits_.size() - 1 - std::min(back, permits_.size() - 1);
    static constexpr std::array<double, 8> kShares = {0, 0.25, 0.5, 0.9, 1, 1, 1.3, 2};
    const double share = bytes_.From(kShares);
    Report(permits_[place],
           bytes_.Bit(6) ? bytes_.From(Costs()).value_or(3) : share * costs_[place]);
  }

  void ReportWrong() {
    constexpr PermitId kNextGeneration = PermitId{1} << 24;
    const int how = bytes_.Below(4);
    if (permits_.empty()) return Report(0, 1);
    const PermitId permit = permits_.back();
    switch (how) {
      case 0:
        return Report(0, 1);
      case 1:
        return Report(std::numeric_limits<PermitId>::max(), 1);
      case 2:
        // Of such an id an engine that was restarted can't know whether it was lost.
        if (permits_.size() == issued_before_restart_) return Report(0, 1);
        return Report(permit + kNextGeneration, 1);
      default:
        return Report(permit, bytes_.From(Costs()).value_or(-3));
    }
  }

  void Advance() {
    constexpr int64_t kMs = 1'000'000;
    static constexpr std::array<int64_t, 16> kSteps = {
        0,          1,          kMs / 1000,   kMs,
        33 * kMs,   100 * kMs,  250 * kMs,    500 * kMs,
        1000 * kMs, 1000 * kMs, 2000 * kMs,   3333 * kMs,
        5000 * kMs, 9999 * kMs, 10'001 * kMs, 3'600'000 * kMs};
    Pass(bytes_.From(kSteps));
  }

  // However often they pass, this stays within what the wall clock can show.
  static constexpr int64_t kMaxWallNs = 86'400'000'000'000;

  // Time ends a little beyond where the engine stops looking, and starts a little before.
  static int64_t Later(int64_t time_ns, int64_t by_ns) {
    constexpr Wide kSecond = 1'000'000'000;
    return static_cast<int64_t>(
        std::clamp(Wide{time_ns} + by_ns, -kSecond, ModelClock::kEndNs + kSecond));
  }

  void Pass(int64_t ns) {
    now_.monotonic_ns = Later(now_.monotonic_ns, ns);
    now_.wall_ns += std::min(ns, kMaxWallNs);
  }

  void Wait() {
    if (!denied_.has_value() || wait_ == absl::InfiniteDuration()) return Advance();
    Pass(absl::ToInt64Nanoseconds(wait_) - (bytes_.Bit(2) ? 1 : 0));
    const CheckRequest request = *denied_;
    denied_.reset();
    Check(request);
    if (answer_.verdict == engine::Verdict::kAllowed) Count("allowed after the wait");
  }

  void StepWall() {
    static constexpr std::array<int, 8> kHours = {1, -1, 6, -6, 24, -24, 1, 48};
    now_.wall_ns += absl::ToInt64Nanoseconds(absl::Hours(bytes_.From(kHours)));
  }

  // Before time runs back, what is overdue is reported: the engine notices that a permit is overdue
  // when it needs the room, and a permit that nobody noticed would be alive again.
  void Jump() {
    constexpr int64_t kYear = 31'557'600'000'000'000;
    if (bytes_.Bit(3)) {
      Count("jump ahead");
      now_.monotonic_ns = Later(now_.monotonic_ns, bytes_.Bit(1) ? kYear : 100 * kYear);
      return;
    }
    // A process that runs sees no such thing, and the next one begins another time.
    if (restart_one_in_ > 0) return Advance();
    Count("jump back");
    for (const PermitId permit : model_.OverduePermits(now_)) {
      Report(permit, engine::ActualCost{.cost = 1});
      if (!wrong_.empty()) return;
    }
    static constexpr std::array<int64_t, 8> kBack = {1,
                                                     1'000'000,
                                                     500'000'000,
                                                     2'000'000'000,
                                                     60'000'000'000,
                                                     900'000'000'000,
                                                     1'100'000'000'000,
                                                     100 * kYear};
    now_.monotonic_ns = Later(now_.monotonic_ns, -bytes_.From(kBack));
  }

  void SetHealth() {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    static constexpr std::array<double, 10> kSpeeds = {0, 0.25, 1, 1, 1, 3, 0.7, 5000, kNaN, -2};
    static constexpr std::array<std::string_view, 3> kProfiles = {"lag", "disk", "none such"};
    engine::Health health{.speed = bytes_.From(kSpeeds), .status = engine::HealthStatus::kHealthy};
    health.gate_shut = bytes_.Bit(3);
    health.signal = static_cast<int16_t>(bytes_.Below(3) - 1);
    health.pressure = static_cast<float>(bytes_.Below(8)) / 4;
    health.sampled_at_ns = std::max<int64_t>(now_.monotonic_ns, 0);
    if (bytes_.Bit(1)) health.next_sample_at_ns = health.sampled_at_ns + 5'000'000'000;
    const auto names = TargetNames(family_);
    const std::string_view target = bytes_.Mostly(names, 2);
    const std::string_view profile = bytes_.Mostly(kProfiles, 2);
    words_ = absl::StrCat("set health of ", Sv(profile), " on '", Sv(target), "' to speed ",
                          health.speed, health.gate_shut ? ", gate shut" : "");
    model_.ChargeSafeRates(now_);
    Expect("status", model_.SetHealth(target, profile, health, now_),
           engine_->SetHealth(target, profile, health, now_).code());
    if (health.gate_shut) Count("gate shut");
  }

  void SetAutoRate() {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    struct Choice {
      double rate;
      bool shut;
      int64_t changes_in_ns;
    };
    static constexpr std::array<Choice, 8> kChoices = {{{1, false, 0},
                                                        {4, false, 250'000'000},
                                                        {0.3, false, 0},
                                                        {20, true, 500'000'000},
                                                        {0, true, 0},
                                                        {1025, false, 0},
                                                        {kNaN, false, 0},
                                                        {-1, false, 0}}};
    static constexpr std::array<std::string_view, 6> kBudgets = {"loop", "loop", "total",
                                                                 "odd",  "team", "none such"};
    const auto names = TargetNames(family_);
    const std::string_view target = bytes_.Mostly(names, 2);
    const std::string_view budget = bytes_.From(kBudgets);
    const Choice choice = bytes_.Mostly(kChoices, 5);
    const engine::Engine::AutoRateSetting setting{
        .rate = choice.rate,
        .shut = choice.shut,
        .next_change_at_ns =
            choice.changes_in_ns == 0 ? 0 : now_.monotonic_ns + choice.changes_in_ns};
    words_ = absl::StrCat("set auto rate of ", Sv(budget), " on '", Sv(target), "' to ",
                          setting.rate, setting.shut ? ", shut" : "");
    model_.ChargeSafeRates(now_);
    Expect("status", model_.SetAutoRate(target, budget, setting, now_),
           engine_->SetAutoRate(target, budget, setting, now_).code());
  }

  void Install(size_t place) {
    const PooledPolicy& policy = Policies(family_)[place];
    words_ = absl::StrCat("install '", policy.name, "'");
    Expect("status", policy.expected, engine_->Install(policy.spec, now_).code());
    if (policy.expected != absl::StatusCode::kOk) return Count("policy refused");
    policy_ = policy.name;
    policy_place_ = place;
    const ReferenceModel::Moves moves = model_.Install(policy.spec, now_);
    Count("ledger moved", static_cast<uint64_t>(moves.same_split));
    Count("ledger split anew", static_cast<uint64_t>(moves.new_split));
    Count("ledger kept", static_cast<uint64_t>(moves.kept));
    Count("ledger dropped", static_cast<uint64_t>(moves.forgotten));
    ExpectLivePermits();
  }

  void ExpectLivePermits() {
    const size_t expected = model_.LivePermits(now_);
    const size_t actual = engine_->ReadStats(now_).permits_live;
    if (expected == actual) return;
    Wrong(absl::StrCat("  live permits\n    model:  ", expected, "\n    engine: ", actual, "\n"));
  }

  TraceBytes bytes_;
  Tally& tally_;
  const uint64_t restart_one_in_;
  std::mt19937_64 random_{20260103};
  const int family_;
  std::unique_ptr<engine::Engine> engine_;
  ReferenceModel model_;
  // 2026-01-01T00:00:00Z.
  Now now_{.monotonic_ns = 1'000'000'000'000, .wall_ns = 1'767'225'600'000'000'000};
  std::string policy_;
  size_t policy_place_ = 0;
  size_t issued_before_restart_ = std::numeric_limits<size_t>::max();

  CheckAnswer answer_;
  std::vector<PermitId> permits_;
  std::vector<double> costs_;  // of the permits' Checks, as they were estimated or granted
  std::set<PermitId> leases_;
  std::optional<CheckRequest> denied_;
  absl::Duration wait_;
  std::string words_;
  std::string wrong_;
};

}  // namespace

std::string_view NameOf(ActionKind kind) { return kShares[static_cast<size_t>(kind)].name; }

ActionKind KindOf(uint8_t byte) {
  int left = byte;
  for (const KindShare& share : kShares) {
    if (left < share.bytes) return share.kind;
    left -= share.bytes;
  }
  return ActionKind::kCheck;
}

std::string RunTrace(absl::Span<const uint8_t> bytes, Tally* tally, uint64_t restart_one_in) {
  Tally unused;
  return TraceRunner(bytes, tally == nullptr ? unused : *tally, restart_one_in).Run();
}

}  // namespace headgate::model
