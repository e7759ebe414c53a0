// Probes and metrics are answered while callers ask for all that the API can do, over HTTP and over
// gRPC, with a port of their own and without.

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate::web {
namespace {

// Far longer than a kubelet waits: the machine has other tests to run. Who starves gets no answer
// in any time.
constexpr int kLimitSeconds = 60;
constexpr int kRounds = 20;

// A call that is made over and over again, by a thread without a pause.
class Flood {
 public:
  explicit Flood(std::function<void()> call)
      : thread_([this, call = std::move(call)] {
          while (!stop_) {
            call();
            ++calls_;
          }
        }) {}
  ~Flood() {
    stop_ = true;
    thread_.join();
  }

  int64_t calls() const { return calls_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> calls_{0};
  std::thread thread_;
};

std::string BatchInJson(int checks) {
  std::string json;
  for (int i = 0; i < checks; ++i) {
    absl::StrAppend(&json, i == 0 ? "" : ",", R"({"identity":"job-)", i,
                    R"(:etl","estimated_cost":1})");
  }
  return "{\"checks\":[" + json + "]}";
}

std::function<void()> OverHttp(int port, const std::string& path, const std::string& body) {
  auto client = std::make_shared<httplib::Client>("127.0.0.1", port);
  client->set_keep_alive(true);
  client->set_tcp_nodelay(true);
  return [=] { (void)client->Post(path, body, "application/json"); };
}

std::function<void()> OverGrpc(const RunningHeadgated& server) {
  v1::BatchCheckRequest batch;
  for (int i = 0; i < 100; ++i) {
    v1::CheckRequest& check = *batch.add_checks();
    check.set_identity(absl::StrCat("job-", i, ":etl"));
    check.set_estimated_cost(1);
  }
  std::shared_ptr<v1::ThrottlerService::Stub> stub =
      v1::ThrottlerService::NewStub(server.channel());
  return [=] {
    grpc::ClientContext context;
    v1::BatchCheckResponse response;
    (void)stub->BatchCheck(&context, batch, &response);
  };
}

// Whether each of them is answered well within the limit, by callers that come anew, as probes do.
void ExpectAnswers(int port) {
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
    httplib::Client client("127.0.0.1", port);
    client.set_connection_timeout(kLimitSeconds);
    client.set_read_timeout(kLimitSeconds);
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path << ": " << httplib::to_string(answer.error());
    EXPECT_EQ(answer->status, 200) << path;
  }
}

class FloodedTest : public testing::Test {
 protected:
  void BeginFlood(const RunningHeadgated& server) {
    for (int i = 0; i < 2; ++i) {
      floods_.emplace_back(OverHttp(server.http_port(), "/v1/check",
                                    R"({"identity":"job:etl","estimated_cost":1})"));
      floods_.emplace_back(OverHttp(server.http_port(), "/v1/batch_check", BatchInJson(50)));
      floods_.emplace_back(OverHttp(server.http_port(), "/v1/batch_check", BatchInJson(1000)));
      floods_.emplace_back(OverHttp(server.http_port(), "/v1/list_buckets",
                                    R"({"budget":"per-job","page_size":1000})"));
      floods_.emplace_back(OverGrpc(server));
    }
    for (const Flood& flood : floods_) {
      ASSERT_TRUE(WaitUntil([&] { return flood.calls() > 0; }));
    }
  }
  void ExpectThatItGoesOn() {
    for (const Flood& flood : floods_) {
      EXPECT_TRUE(WaitUntil([&, before = flood.calls()] { return flood.calls() > before; }));
    }
  }

  const std::string yaml_ =
      "budgets: [{name: per-job, rate: 1000, burst: 1000, split: {depth: 2}}]\n"
      "rules: [{name: all, charge: [per-job]}]\n";
  std::deque<Flood> floods_;
};

TEST_F(FloodedTest, ProbesAndMetricsAreAnsweredOnThePortThatIsFlooded) {
  RunningHeadgated server({.yaml = yaml_, .http_address = "127.0.0.1:0"});
  BeginFlood(server);
  for (int round = 0; round < kRounds; ++round) ExpectAnswers(server.http_port());
  ExpectThatItGoesOn();
  floods_.clear();
}

TEST_F(FloodedTest, ProbesAndMetricsAreAnsweredOnAPortOfTheirOwn) {
  const TempFolder folder;
  RunningHeadgated server(
      {.yaml = yaml_,
       .http_address = "127.0.0.1:0",
       .flags = {"--probe-address=127.0.0.1:0", "--probe-port-file=" + folder.File("port")}});
  int port = 0;
  ASSERT_TRUE(
      WaitUntil([&] { return static_cast<bool>(std::ifstream(folder.File("port")) >> port); }));
  BeginFlood(server);
  for (int round = 0; round < kRounds; ++round) ExpectAnswers(port);
  ExpectThatItGoesOn();
  floods_.clear();
}

}  // namespace
}  // namespace headgate::web
