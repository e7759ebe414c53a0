#include "client/cli/top/top_fetch.h"

#include <headgate/v1/status_service.grpc.pb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdint>

namespace headgate::cli {
namespace {

constexpr int kCalls = 4;
constexpr int kMaxBudgets = 1000;  // as many as a page holds
constexpr int kFullestBuckets = 20;
constexpr int kLongestLines = 10;
constexpr int kWaiters = 3;  // of each line
// Of the calls: an older server does not know it.
constexpr size_t kListLines = 3;

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
  std::array<grpc::ClientContext, kCalls> contexts;
  std::array<grpc::Status, kCalls> results;
  std::atomic<int> pending = kCalls;
  v1::GetStatusRequest status_request;
  v1::ListBudgetsRequest budgets_request;
  v1::ListBucketsRequest buckets_request;
  v1::ListLinesRequest lines_request;
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

void TopFetch::Start() {
  if (round_ != nullptr) return;
  round_ = std::make_unique<Round>(ready_.number());
  Round& round = *round_;
  for (grpc::ClientContext& context : round.contexts) SetDeadline(context, connection_.timeout());
  round.status_request.set_target(target_);
  round.budgets_request.set_target(target_);
  round.budgets_request.set_page_size(kMaxBudgets);
  round.buckets_request.set_target(target_);
  round.buckets_request.set_page_size(kFullestBuckets);
  round.lines_request.set_target(target_);
  round.lines_request.set_page_size(kLongestLines);
  round.lines_request.set_waiters(kWaiters);
  const auto stub = v1::StatusService::NewStub(connection_.channel());
  auto* service = stub->async();
  service->GetStatus(&round.contexts[0], &round.status_request, &round.answers.status,
                     round.Finish(0));
  service->ListBudgets(&round.contexts[1], &round.budgets_request, &round.answers.budgets,
                       round.Finish(1));
  service->ListBuckets(&round.contexts[2], &round.buckets_request, &round.answers.buckets,
                       round.Finish(2));
  service->ListLines(&round.contexts[kListLines], &round.lines_request, &round.answers.lines,
                     round.Finish(kListLines));
}

absl::StatusOr<TopAnswers> TopFetch::Take() {
  assert(round_ != nullptr);
  uint64_t done = 0;
  while (read(ready_.number(), &done, sizeof(done)) < 0 && errno == EINTR) {
  }
  const std::unique_ptr<Round> round = std::move(round_);
  grpc::Status& lines = round->results[kListLines];
  if (lines.error_code() == grpc::StatusCode::UNIMPLEMENTED) lines = grpc::Status();
  for (const grpc::Status& result : round->results) {
    if (!result.ok()) return connection_.ToStatus(result);
  }
  return std::move(round->answers);
}

}  // namespace headgate::cli
