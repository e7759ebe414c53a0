// LineServer: the API on a real socket, with lines and leases that a test describes.
//
// Thread-compatible: set everything before it is asked.
//
//   LineServer server;
//   server.lines.add_lines()->set_budget("rows");
//   EXPECT_THAT(server.Headgate({"top"}).out, HasSubstr("budget rows"));
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/run_headgate.h"

namespace headgate::cli {

class LineServerBase {
 public:
  LineServerBase() : throttler_(*this), status_(*this) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&throttler_);
    builder.RegisterService(&status_);
    server_ = builder.BuildAndStart();
  }
  ~LineServerBase() { server_->Shutdown(); }
  LineServerBase(const LineServerBase&) = delete;
  LineServerBase& operator=(const LineServerBase&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  v1::ExplainResponse explanation;
  v1::GetStatusResponse status;
  v1::ListLinesResponse lines;
  v1::ListLeasesResponse leases;
  v1::ListLinesRequest asked_for_lines;  // the newest
  v1::ListLeasesRequest asked_for_leases;

 private:
  class Throttler final : public v1::ThrottlerService::Service {
   public:
    explicit Throttler(LineServerBase& server) : server_(server) {}
    grpc::Status Explain(grpc::ServerContext*, const v1::ExplainRequest*,
                         v1::ExplainResponse* response) override {
      *response = server_.explanation;
      return grpc::Status::OK;
    }

   private:
    LineServerBase& server_;
  };
  class Status final : public v1::StatusService::Service {
   public:
    explicit Status(LineServerBase& server) : server_(server) {}
    grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                           v1::GetStatusResponse* response) override {
      *response = server_.status;
      return grpc::Status::OK;
    }
    grpc::Status ListBudgets(grpc::ServerContext*, const v1::ListBudgetsRequest*,
                             v1::ListBudgetsResponse*) override {
      return grpc::Status::OK;
    }
    grpc::Status ListBuckets(grpc::ServerContext*, const v1::ListBucketsRequest*,
                             v1::ListBucketsResponse*) override {
      return grpc::Status::OK;
    }
    grpc::Status ListLines(grpc::ServerContext*, const v1::ListLinesRequest* request,
                           v1::ListLinesResponse* response) override {
      server_.asked_for_lines = *request;
      *response = server_.lines;
      return grpc::Status::OK;
    }
    grpc::Status ListLeases(grpc::ServerContext*, const v1::ListLeasesRequest* request,
                            v1::ListLeasesResponse* response) override {
      server_.asked_for_leases = *request;
      *response = server_.leases;
      return grpc::Status::OK;
    }

   private:
    LineServerBase& server_;
  };

  Throttler throttler_;
  Status status_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

using LineServer = AskedByHeadgate<LineServerBase>;

}  // namespace headgate::cli
