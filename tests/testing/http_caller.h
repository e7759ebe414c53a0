// Calls the API over HTTP with cpp-httplib, and reads and writes JSON with protobuf's own
// json_util: nothing of what is tested here helps it.
//
//   Peer peer(nullptr);
//   peer.other_way = std::make_shared<HttpCaller>(server.http_port());
//   EXPECT_TRUE(CallRpc(peer, &v1::StatusService::Stub::GetStatus).ok());

#pragma once

#include <google/protobuf/util/json_util.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <httplib.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/freed.h"
#include "gtest/gtest.h"
#include "server/serve/gateway/gateway.h"
#include "tests/testing/certificates.h"
#include "tests/testing/rpc_call.h"

namespace headgate {

inline std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

class HttpCaller final : public OtherWay {
 public:
  explicit HttpCaller(int port)
      : client_(std::make_unique<httplib::ClientImpl>("127.0.0.1", port)) {}
  // Over TLS: `own` is shown unless it is empty.
  HttpCaller(int port, const std::string& authority, const TestCertificate& own)
      : certificate_(Read<X509, PEM_read_bio_X509>(own.certificate)),
        key_(Read<EVP_PKEY, PEM_read_bio_PrivateKey>(own.key)) {
    auto client = certificate_ == nullptr ? std::make_unique<httplib::SSLClient>("127.0.0.1", port)
                                          : std::make_unique<httplib::SSLClient>(
                                                "127.0.0.1", port, certificate_.get(), key_.get());
    X509_STORE* const trusted = X509_STORE_new();
    const std::unique_ptr<X509, Freed<X509_free>> root(Read<X509, PEM_read_bio_X509>(authority));
    X509_STORE_add_cert(trusted, root.get());
    client->set_ca_cert_store(trusted);
    client->enable_server_certificate_verification(true);
    client_ = std::move(client);
  }

  // A POST of this text, as JSON.
  httplib::Result Post(const std::string& path, const std::string& body,
                       const std::string& authorization = "") {
    httplib::Headers headers;
    if (!authorization.empty()) headers.emplace("Authorization", authorization);
    client_->set_keep_alive(true);
    client_->set_read_timeout(60);
    client_->set_tcp_nodelay(true);  // headers and body are sent one after the other
    return client_->Post(path, headers, body, "application/json");
  }
  httplib::ClientImpl& client() { return *client_; }

  grpc::Status Call(const std::string& authorization, const google::protobuf::Message& request,
                    google::protobuf::Message& response) override {
    const std::string name = request.GetDescriptor()->name();
    const httplib::Result result = Post(gateway::PathOf(name.substr(0, name.rfind("Request"))),
                                        ToJson(request), authorization);
    if (!result) return {grpc::StatusCode::UNAVAILABLE, httplib::to_string(result.error())};
    const bool answers = result->status == 200 || (result->status == 429 && name == "CheckRequest");
    if (!answers) return ErrorOf(*result);
    const auto read = google::protobuf::util::JsonStringToMessage(result->body, &response);
    EXPECT_TRUE(read.ok()) << read.ToString() << ": " << result->body;
    return grpc::Status();
  }

 private:
  template <typename Object, auto Pem>
  static Object* Read(const std::string& text) {
    if (text.empty()) return nullptr;
    const std::unique_ptr<BIO, Freed<BIO_free_all>> bio(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    return Pem(bio.get(), nullptr, nullptr, nullptr);
  }

  static grpc::Status ErrorOf(const httplib::Response& response) {
    static const std::map<grpc::StatusCode, int> kStatuses = {
        {grpc::StatusCode::INVALID_ARGUMENT, 400}, {grpc::StatusCode::FAILED_PRECONDITION, 400},
        {grpc::StatusCode::UNAUTHENTICATED, 401},  {grpc::StatusCode::PERMISSION_DENIED, 403},
        {grpc::StatusCode::NOT_FOUND, 404},        {grpc::StatusCode::RESOURCE_EXHAUSTED, 503},
        {grpc::StatusCode::UNAVAILABLE, 503}};
    google::rpc::ErrorInfo::descriptor();  // links it in: details are read by their names
    google::rpc::Status error;
    const auto read = google::protobuf::util::JsonStringToMessage(response.body, &error);
    EXPECT_TRUE(read.ok()) << read.ToString() << ": " << response.body;
    const auto code = static_cast<grpc::StatusCode>(error.code());
    EXPECT_EQ(kStatuses.count(code), 1U) << error.code();
    if (kStatuses.count(code) == 1) {
      EXPECT_EQ(response.status, kStatuses.at(code)) << response.body;
    }
    return {code, error.message(), error.SerializeAsString()};
  }

  std::unique_ptr<X509, Freed<X509_free>> certificate_;
  std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key_;
  std::unique_ptr<httplib::ClientImpl> client_;
};

}  // namespace headgate
