#include "tests/bench/line/holding_server.h"

#include <grpc/support/time.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

// The request is dropped as it comes, as by a server that waits with it elsewhere.
class Holder {
 public:
  Holder() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    thread_ = std::thread([this] { Run(); });
  }
  // Calls are cancelled.
  ~Holder() {
    server_->Shutdown(gpr_inf_past(GPR_CLOCK_REALTIME));
    queue_->Shutdown();
    thread_.join();
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  int port() const { return port_; }
  // relaxed: a number that orders nothing.
  int held() const { return held_.load(std::memory_order_relaxed); }

 private:
  struct Call {
    grpc::ServerContext context;
    grpc::ByteBuffer request;
    grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer{&context};
  };

  void Post() {
    Call& call = calls_.emplace_back();
    service_.RequestCheck(&call.context, &call.request, &call.writer, queue_.get(), queue_.get(),
                          &call);
  }
  void Run() {
    Post();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      if (!ok) continue;
      static_cast<Call*>(tag)->request.Clear();
      held_.fetch_add(1, std::memory_order_relaxed);
      Post();
    }
  }

  v1::ThrottlerService::WithRawMethod_Check<v1::ThrottlerService::Service> service_;
  int port_ = 0;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::deque<Call> calls_;  // of the thread
  std::atomic<int> held_{0};
  std::thread thread_;
};

double NumberIn(const std::string& answer) {
  double number = 0;
  if (!absl::SimpleAtod(answer, &number)) {
    std::fprintf(stderr, "line: the server that holds calls says '%s'\n", answer.c_str());
    std::exit(EXIT_FAILURE);
  }
  return number;
}

}  // namespace

HoldingServer::HoldingServer()
    : process_(std::string(kHoldCalls)), port_(static_cast<int>(NumberIn(process_.Do("port")))) {}

double HoldingServer::RssBytesWith(int calls) { return NumberIn(process_.Do(absl::StrCat(calls))); }

int HoldCalls() {
  const Holder holder;
  for (std::string line; std::getline(std::cin, line);) {
    int calls = 0;
    if (!absl::SimpleAtoi(line, &calls)) {
      std::cout << holder.port() << std::endl;
      continue;
    }
    const bool all = WaitUntil([&] { return holder.held() >= calls; }, absl::Seconds(60));
    const absl::StatusOr<ProcessUsage> usage = UsageOf(getpid());
    if (!all || !usage.ok()) return EXIT_FAILURE;
    std::cout << static_cast<int64_t>(usage->rss_mib * 1024 * 1024) << std::endl;
  }
  return EXIT_SUCCESS;
}

}  // namespace headgate::bench
