// The two ways in which the honest job calls: over gRPC, and in JSON over HTTP.
//
//   const std::unique_ptr<HonestCalls> calls = CallsOverHttp(server);
//   const grpc::Status status = calls->Check(request, response);

#pragma once

#include <google/protobuf/util/json_util.h>
#include <httplib.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bench/isolation/calls.h"

namespace headgate::bench {

class HonestCalls {
 public:
  virtual ~HonestCalls() = default;
  virtual grpc::Status Check(const v1::CheckRequest& request, v1::CheckResponse& response) = 0;
  virtual grpc::Status Report(const v1::ReportRequest& request, v1::ReportResponse& response) = 0;
};

class HonestCallsOverGrpc final : public HonestCalls {
 public:
  explicit HonestCallsOverGrpc(const AttackedServer& server) : calls_(server) {}

  grpc::Status Check(const v1::CheckRequest& request, v1::CheckResponse& response) override {
    grpc::ClientContext context;
    SetTwoSeconds(context);
    return calls_.throttler.Check(&context, request, &response);
  }
  grpc::Status Report(const v1::ReportRequest& request, v1::ReportResponse& response) override {
    grpc::ClientContext context;
    SetTwoSeconds(context);
    return calls_.throttler.Report(&context, request, &response);
  }

 private:
  Calls calls_;
};

// On one connection, which is kept open.
class HonestCallsOverHttp final : public HonestCalls {
 public:
  explicit HonestCallsOverHttp(const AttackedServer& server) : client_(ClientOf(server)) {
    client_->set_keep_alive(true);
    client_->set_tcp_nodelay(true);
    client_->set_connection_timeout(2);
    client_->set_read_timeout(2);
    client_->set_write_timeout(2);
  }

  grpc::Status Check(const v1::CheckRequest& request, v1::CheckResponse& response) override {
    return Post("/v1/check", request, response);
  }
  grpc::Status Report(const v1::ReportRequest& request, v1::ReportResponse& response) override {
    return Post("/v1/report", request, response);
  }

 private:
  static std::unique_ptr<httplib::ClientImpl> ClientOf(const AttackedServer& server) {
    if (server.ca_file.empty()) {
      return std::make_unique<httplib::ClientImpl>("127.0.0.1", server.http_port);
    }
    auto client = std::make_unique<httplib::SSLClient>("127.0.0.1", server.http_port);
    client->set_ca_cert_path(server.ca_file);
    return client;
  }

  grpc::Status Post(const std::string& path, const google::protobuf::Message& request,
                    google::protobuf::Message& response) {
    std::string body;
    (void)google::protobuf::util::MessageToJsonString(request, &body);
    const httplib::Result result = client_->Post(path, body, "application/json");
    if (!result) return Failed(httplib::to_string(result.error()));
    if (result->status != 200 && result->status != 429) {
      return Failed(absl::StrCat(result->status, " ", result->body));
    }
    const auto read = google::protobuf::util::JsonStringToMessage(result->body, &response);
    return read.ok() ? grpc::Status() : Failed(read.ToString());
  }
  static grpc::Status Failed(const std::string& why) {
    return {grpc::StatusCode::UNAVAILABLE, "HTTP: " + why};
  }

  const std::unique_ptr<httplib::ClientImpl> client_;
};

}  // namespace headgate::bench
