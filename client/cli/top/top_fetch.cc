#include "client/cli/top/top_fetch.h"

#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

constexpr int kMaxBudgets = 1000;  // as many as a page holds
constexpr int kMaxOverrides = 1000;
constexpr int kMaxDenied = 1000;
constexpr int kMaxIdentities = 10'000;
constexpr int kNewestDenials = 200;
constexpr int kFullestBuckets = 20;
constexpr int kLongestLines = 10;
constexpr int kWaiters = 20;  // of each line
constexpr int kMostHolders = 1000;
constexpr int kLeases = 1;  // of each holder, whose sums are shown
constexpr absl::Duration kBetweenLogs = absl::Seconds(5);

// The calls, in this order. Without the first ones there is nothing to show.
enum TopCall : size_t {
  kStatus,
  kBudgets,
  kBuckets,
  kLines,
  kLeasesHeld,
  kOverrides,
  kDenied,
  kChecks,
  kNewest,
  kCalls
};
constexpr std::array<const char*, kCalls> kMeant = {"",
                                                    "",
                                                    "",
                                                    "who waits",
                                                    "who holds leases",
                                                    "what is in force",
                                                    "who was denied",
                                                    "how many Checks there were",
                                                    "who was denied last"};

}  // namespace

// The calls of one fetch. It lives until all of them are done.
struct TopFetch::Round {
  explicit Round(int fd) : ready_fd(fd) {}

  // What ends call `i`; it runs on one of gRPC's threads.
  auto Finish(size_t i) {
    return [this, i](const grpc::Status& status) {
      results[i] = status;
      // Release: the last one publishes its own result. Acquire: and sees those of the others.
      if (pending.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
      // Once this is written the round may be gone.
      const uint64_t one = 1;
      while (write(ready_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
      }
    };
  }

  const int ready_fd;
  bool reads_log = false;
  std::array<grpc::ClientContext, kCalls> contexts;
  std::array<grpc::Status, kCalls> results;
  std::atomic<int> pending = kCalls;
  v1::GetStatusRequest status_request;
  v1::ListBudgetsRequest budgets_request;
  v1::ListBucketsRequest buckets_request;
  v1::ListLinesRequest lines_request;
  v1::ListLeasesRequest leases_request;
  v1::ListOverridesRequest overrides_request;
  v1::QueryThrottleLogRequest denied_request;
  v1::QueryThrottleLogRequest checks_request;
  v1::ListDenialsRequest newest_request;
  TopAnswers answers;
};

TopFetch::TopFetch(Connection& connection, const std::string& target)
    : connection_(connection), target_(target), ready_(eventfd(0, EFD_CLOEXEC)) {}

TopFetch::~TopFetch() {
  if (round_ != nullptr) {
    for (grpc::ClientContext& context : round_->contexts) context.TryCancel();
    Take().status().IgnoreError();  // only the end of it matters
  }
}

void TopFetch::Start(absl::Time now) {
  if (round_ != nullptr) return;
  round_ = std::make_unique<Round>(ready_.number());
  round_->answers.at = now;
  round_->reads_log = now - log_at_ >= kBetweenLogs || now < log_at_;
  for (grpc::ClientContext& context : round_->contexts) SetDeadline(context, connection_.timeout());
  AskForStatus(*round_);
  AskForOverrides(*round_);
  AskForLog(*round_);
}

void TopFetch::AskForStatus(Round& round) {
  round.status_request.set_target(target_);
  round.budgets_request.set_target(target_);
  round.budgets_request.set_page_size(kMaxBudgets);
  round.buckets_request.set_target(target_);
  round.buckets_request.set_page_size(kFullestBuckets);
  round.lines_request.set_target(target_);
  round.lines_request.set_page_size(kLongestLines);
  round.lines_request.set_waiters(kWaiters);
  round.leases_request.set_target(target_);
  round.leases_request.set_page_size(kMostHolders);
  round.leases_request.set_leases(kLeases);
  const auto stub = v1::StatusService::NewStub(connection_.channel());
  auto* service = stub->async();
  service->GetStatus(&round.contexts[kStatus], &round.status_request, &round.answers.status,
                     round.Finish(kStatus));
  service->ListBudgets(&round.contexts[kBudgets], &round.budgets_request, &round.answers.budgets,
                       round.Finish(kBudgets));
  service->ListBuckets(&round.contexts[kBuckets], &round.buckets_request, &round.answers.buckets,
                       round.Finish(kBuckets));
  service->ListLines(&round.contexts[kLines], &round.lines_request, &round.answers.lines,
                     round.Finish(kLines));
  service->ListLeases(&round.contexts[kLeasesHeld], &round.leases_request, &round.answers.leases,
                      round.Finish(kLeasesHeld));
}

void TopFetch::AskForOverrides(Round& round) {
  round.overrides_request.set_page_size(kMaxOverrides);
  v1::OverrideService::NewStub(connection_.channel())
      ->async()
      ->ListOverrides(&round.contexts[kOverrides], &round.overrides_request,
                      &round.answers.overrides, round.Finish(kOverrides));
}

void TopFetch::AskForLog(Round& round) {
  const auto stub = v1::ThrottleLogService::NewStub(connection_.channel());
  round.newest_request.set_target(target_);
  round.newest_request.set_page_size(kNewestDenials);
  stub->async()->ListDenials(&round.contexts[kNewest], &round.newest_request, &round.answers.newest,
                             round.Finish(kNewest));
  if (!round.reads_log) {
    round.Finish(kDenied)(grpc::Status::OK);
    round.Finish(kChecks)(grpc::Status::OK);
    return;
  }
  log_at_ = round.answers.at;
  v1::QueryThrottleLogRequest& denied = round.denied_request;
  denied.mutable_filter()->set_target(target_);
  SetTimestamp(log_at_ - kRecent, *denied.mutable_filter()->mutable_from());
  denied.add_group_by(v1::LOG_GROUP_IDENTITY);
  denied.add_group_by(v1::LOG_GROUP_TARGET);
  round.checks_request = denied;
  round.checks_request.set_page_size(kMaxIdentities);
  round.checks_request.set_order(v1::LOG_ORDER_MOST_DENIED);
  denied.mutable_filter()->add_outcomes(v1::OUTCOME_DENIED);
  for (const v1::LogGroup cause :
       {v1::LOG_GROUP_REASON, v1::LOG_GROUP_BUDGET, v1::LOG_GROUP_RULE, v1::LOG_GROUP_SIGNAL}) {
    denied.add_group_by(cause);
  }
  denied.set_order(v1::LOG_ORDER_MOST_DENIED);
  denied.set_page_size(kMaxDenied);
  stub->async()->QueryThrottleLog(&round.contexts[kDenied], &round.denied_request,
                                  &round.answers.denied, round.Finish(kDenied));
  stub->async()->QueryThrottleLog(&round.contexts[kChecks], &round.checks_request,
                                  &round.answers.checks, round.Finish(kChecks));
}

absl::StatusOr<TopAnswers> TopFetch::Take() {
  assert(round_ != nullptr);
  uint64_t done = 0;
  while (read(ready_.number(), &done, sizeof(done)) < 0 && errno == EINTR) {
  }
  const std::unique_ptr<Round> round = std::move(round_);
  TopAnswers& answers = round->answers;
  for (size_t i = 0; i < kCalls; ++i) {
    const grpc::Status& result = round->results[i];
    if (i < kLines && !result.ok()) return connection_.ToStatus(result);
    if ((i == kDenied || i == kChecks) && !round->reads_log) continue;
    // A server that is older, or that keeps no overrides, has nothing to show.
    const bool is_said = !result.ok() && result.error_code() != grpc::StatusCode::UNIMPLEMENTED;
    missing_[kMeant[i]] = is_said ? Squeezed(result.error_message()) : "";
  }
  if (round->reads_log) {
    denied_ = answers.denied;
    checks_ = answers.checks;
  } else {
    answers.denied = denied_;
    answers.checks = checks_;
  }
  for (const auto& [what, why] : missing_) {
    if (!why.empty()) answers.missing.push_back(absl::StrCat(what, ": ", why));
  }
  return std::move(answers);
}

}  // namespace headgate::cli
