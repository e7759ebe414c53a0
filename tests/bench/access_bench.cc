// What it costs to know who calls and whether it may, for each Check: access off, a certificate, a
// token; and what a token costs that was not seen on its connection before.
//
// A method of a real server, called over TLS, asks access control about its own call: once on the
// fresh call, as a Check does, and then many times in a row. Figures are nanoseconds a Check: the
// median of fresh calls, less what reading the clock takes, and the mean of repeated ones. Ratios
// are to access off.

#include <google/protobuf/empty.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "server/govern/access/access_control.h"
#include "server/serve/rpc/call_evidence.h"
#include "server/serve/rpc/rpc_server.h"
#include "server/serve/transport/service.h"
#include "tests/testing/certificates.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::bench {
namespace {

constexpr char kMethod[] = "/bench.Access/Ask";
constexpr char kToken[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
constexpr char kUri[] = "spiffe://prod/ns/jobs/sa/backfill";
constexpr char kIdentity[] = "d666bbfc_169e:vcopier:vreplication:online-ddl";
constexpr int kCalls = 2000;
constexpr int kRepeats = 1000;

double NowNs() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

class AskService final : public transport::Service {
  using Connections = rpc::CallEvidence::Connections;

 public:
  explicit AskService(access::AccessControl& access) : access_(access) {
    using google::protobuf::Empty;
    AddSync<Empty, Empty>(kMethod, [this](grpc::ServerContext& context, auto&, auto&) {
      Measure(context);
      return grpc::Status();
    });
  }

  // Whether each call finds an empty cache.
  bool forget = false;
  std::vector<double> fresh_ns;
  double repeated_ns = 0;

 private:
  void Ask(grpc::ServerContext& context, Connections& connections) {
    const rpc::CallEvidence call(context, &connections);
    access::Asker asker;
    if (access_.Identify(call, asker).has_value()) Fail("the caller is not known");
    if (access_.MayCheck(asker, kIdentity, tags_).has_value()) Fail("the Check is refused");
  }

  void Measure(grpc::ServerContext& context) {
    Connections empty;
    Connections& connections = forget ? empty : connections_;
    const double begin = NowNs();
    Ask(context, connections);
    const double asked = NowNs();
    const double read = NowNs();
    fresh_ns.push_back(std::max(0.0, (asked - begin) - (read - asked)));
    const double from = NowNs();
    for (int i = 0; i < kRepeats; ++i) Ask(context, connections);
    repeated_ns += (NowNs() - from) / kRepeats / kCalls;
  }

  access::AccessControl& access_;
  Connections connections_;
  const std::vector<std::pair<std::string, std::string>> tags_ = {{"app", "vitess"}};
};

struct Figures {
  double fresh_ns = 0;
  double repeated_ns = 0;
};

class Stage {
 public:
  Stage() {
    const TestCertificate shown = authority_.SignServer();
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = authority_.certificate();
    tls.pem_key_cert_pairs.push_back({shown.key, shown.certificate});
    rpc::RpcServerOptions options;
    options.address = "127.0.0.1:0";
    options.credentials = grpc::SslServerCredentials(tls);
    options.more_services = {&service_};
    auto started = rpc::RpcServer::Start(options, quiet_.all);
    if (!started.ok()) Fail(started.status().ToString());
    server_ = *std::move(started);
  }

  Figures Run(const std::optional<access::PolicySpec>& policy, bool with_certificate,
              const std::string& token, bool forget = false) {
    access_.SetPolicy(policy);
    std::string line = "t sha256:";
    for (const uint8_t byte : access::DigestOf(kToken)) absl::StrAppendFormat(&line, "%02x", byte);
    auto book = access::TokenBook::Parse(line, "tokens");
    if (!book.ok()) Fail(book.status().ToString());
    access_.SetTokens(*std::move(book));
    service_.forget = forget;
    service_.fresh_ns.clear();
    service_.repeated_ns = 0;
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = authority_.certificate();
    if (with_certificate) {
      const TestCertificate own = authority_.Sign({.name = "jobs", .uri = {kUri}});
      tls.pem_private_key = own.key;
      tls.pem_cert_chain = own.certificate;
    }
    const auto channel =
        OwnChannel(absl::StrCat("127.0.0.1:", server_->port()), grpc::SslCredentials(tls));
    for (int i = 0; i < kCalls; ++i) Call(channel, token);
    auto& fresh = service_.fresh_ns;
    std::nth_element(fresh.begin(), fresh.begin() + kCalls / 2, fresh.end());
    return {fresh[kCalls / 2], service_.repeated_ns};
  }

 private:
  static void Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& token) {
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    const grpc::Slice empty("");
    const grpc::ByteBuffer request(&empty, 1);
    auto call = stub.PrepareUnaryCall(&context, kMethod, request, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    if (!status.ok()) Fail(status.error_message());
  }

  CertificateAuthority authority_{"bench"};
  SystemClock clock_;
  engine::Engine engine_{{.seed = 7}};
  rpc::QuietDependencies quiet_{engine_, clock_};
  access::AccessControl access_{{.seed = 7}, clock_};
  AskService service_{access_};
  std::unique_ptr<rpc::RpcServer> server_;
};

void Print(const char* what, const Figures& figures, const Figures& off) {
  std::printf("%-34s %8.1f ns fresh  %8.1f ns repeated  %6.1f x\n", what, figures.fresh_ns,
              figures.repeated_ns, figures.repeated_ns / off.repeated_ns);
}

void Main() {
  access::PolicySpec by_certificate;
  by_certificate.callers.resize(1);
  by_certificate.callers[0].name = "backfill";
  by_certificate.callers[0].certificate = absl::StrCat("URI:", kUri);
  by_certificate.callers[0].identities = {"online-ddl", "backfill"};
  by_certificate.protected_tags = {{"urgent", "true"}};
  access::PolicySpec by_token = by_certificate;
  by_token.callers[0].certificate.clear();
  by_token.callers[0].token = "t";
  Stage stage;
  const Figures off = stage.Run(std::nullopt, true, "");
  Print("access off", off, off);
  Print("certificate", stage.Run(by_certificate, true, ""), off);
  Print("token", stage.Run(by_token, false, kToken), off);
  Print("certificate, first call", stage.Run(by_certificate, true, "", true), off);
  Print("token, first call", stage.Run(by_token, false, kToken, true), off);
}

}  // namespace
}  // namespace headgate::bench

int main() { headgate::bench::Main(); }
