// A whole server in this process with an HTTP port, and maybe a real PostgreSQL.
//
//   WholeServer server("budgets: ...");
//   EXPECT_EQ(server.Get("/readyz").status, 200);
//   Scrape scrape = server.Scraped();
//
// Thread-compatible, but Check may be called by any thread.

#ifndef HEADGATE_TESTS_WEB_WHOLE_SERVER_H_
#define HEADGATE_TESTS_WEB_WHOLE_SERVER_H_

#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <httplib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/app/server.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"
#include "tests/web/exposition_text.h"

namespace headgate::web {

class WholeServer {
 public:
  explicit WholeServer(const std::string& yaml, absl::Duration ready_after = absl::Seconds(30)) {
    Rewrite(yaml);
    std::filesystem::create_directory(folder_.path() / "state");
    auto started =
        app::Server::Start({.config_path = folder_.File("headgate.yaml"),
                            .grpc_address = "127.0.0.1:0",
                            .state_dir = folder_.File("state"),
                            .web = {.address = "127.0.0.1:0", .ready_after = ready_after},
                            .grace = absl::Seconds(2)},
                           clock_);
    EXPECT_TRUE(started.ok()) << started.status();
    if (!started.ok()) std::abort();
    server_ = *std::move(started);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials());
    throttler_ = v1::ThrottlerService::NewStub(channel_);
  }

  app::Server& server() { return *server_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  void Rewrite(const std::string& yaml) const {
    std::ofstream(folder_.File("draft")) << yaml;
    std::filesystem::rename(folder_.File("draft"), folder_.File("headgate.yaml"));
  }

  struct Page {
    int status = 0;  // 0: there was no answer
    std::string body;
  };
  Page Get(const std::string& path) const {
    httplib::Client client("127.0.0.1", server_->http_port());
    const auto response = client.Get(path);
    if (!response) return {};
    return {response->status, response->body};
  }
  Scrape Scraped() const { return Scrape::Parse(Get("/metrics").body); }
  // A scrape for which this held, or the last one.
  Scrape AwaitScrape(const std::function<bool(const Scrape&)>& condition) const {
    Scrape scrape;
    EXPECT_TRUE(WaitUntil([&] { return condition(scrape = Scraped()); })) << Get("/metrics").body;
    return scrape;
  }

  v1::Decision Check(const std::string& identity, double cost = 1,
                     const std::string& target = "") const {
    v1::CheckRequest request;
    request.set_identity(identity);
    request.set_target(target);
    request.set_estimated_cost(cost);
    v1::CheckResponse response;
    grpc::ClientContext context;
    const grpc::Status status = throttler_->Check(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.decision();
  }

 private:
  const TempFolder folder_;
  SystemClock clock_;
  std::unique_ptr<app::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ThrottlerService::Stub> throttler_;
};

}  // namespace headgate::web

#endif  // HEADGATE_TESTS_WEB_WHOLE_SERVER_H_
