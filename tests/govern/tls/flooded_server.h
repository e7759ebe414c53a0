// A server that is flooded, in plaintext or over TLS, what it may take meanwhile, and honest jobs
// beside the flood.
//
//   const FloodedServer flooded;
//   const RunningHeadgated server(flooded.Options(Over::kTls));
//   JobBeside job(flooded.Connect(server, Over::kTls));
//   ... EXPECT_TRUE(job.End().empty()) ...

#pragma once

#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/govern/tls/flooding_caller.h"
#include "tests/testing/certificates.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kMostTakenMiB = 3072;  // they remember what was freed, and who touched it
inline constexpr double kMostKeptMiB = 3072;   // and give nothing back
#else
inline constexpr double kMostTakenMiB = 300;
inline constexpr double kMostKeptMiB = 40;
#endif
inline constexpr char kFloodedPolicy[] = R"(
budgets:
- {name: b, rate: 1000, burst: 100000}
rules:
- {name: all, charge: [b]}
)";

// A job that asks and reports at an easy pace, over one connection: one Check at a time, or so
// many.
class JobBeside {
 public:
  explicit JobBeside(const std::shared_ptr<grpc::Channel>& channel, int checks = 1)
      : stub_(v1::ThrottlerService::NewStub(channel)),
        checks_(checks),
        thread_([this] { Run(); }) {}
  ~JobBeside() { End(); }
  // Returns what became of it.
  void End() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }

  int calls() const { return calls_; }
  const std::vector<std::string>& errors() const { return errors_; }
  int64_t slowest_ms() const { return slowest_ns_ / 1'000'000; }

 private:
  void Run() {
    while (!ended_) {
      v1::ReportRequest report;
      v1::ReportResponse reported;
      checks_ == 1 ? AskOnce(report) : AskMany(report);
      Note([&](auto& context) { return stub_->Report(&context, report, &reported); });
      poll(nullptr, 0, 20);
    }
  }
  void AskOnce(v1::ReportRequest& report) {
    v1::CheckRequest check;
    check.set_identity("honest:backfill");
    v1::CheckResponse checked;
    Note([&](auto& context) { return stub_->Check(&context, check, &checked); });
    report.add_reports()->set_permit_id(checked.decision().permit_id());
  }
  void AskMany(v1::ReportRequest& report) {
    v1::BatchCheckRequest batch;
    for (int i = 0; i < checks_; ++i) {
      batch.add_checks()->set_identity(absl::StrCat("honest-", i, ":backfill-of-orders"));
    }
    v1::BatchCheckResponse checked;
    Note([&](auto& context) { return stub_->BatchCheck(&context, batch, &checked); });
    for (const v1::CheckResult& result : checked.results()) {
      report.add_reports()->set_permit_id(result.decision().permit_id());
    }
  }
  void Note(const std::function<grpc::Status(grpc::ClientContext&)>& call) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_seconds(60, GPR_TIMESPAN));
    const int64_t begun_ns = MonotonicNs();
    const grpc::Status status = call(context);
    slowest_ns_ = std::max(slowest_ns_, MonotonicNs() - begun_ns);
    ++calls_;
    if (!status.ok()) errors_.push_back(status.error_message());
  }

  const std::unique_ptr<v1::ThrottlerService::Stub> stub_;
  const int checks_;
  std::atomic<bool> ended_ = false;
  // The thread's until it has ended, but for the first.
  std::atomic<int> calls_ = 0;  // relaxed would do: it orders nothing
  std::vector<std::string> errors_;
  int64_t slowest_ns_ = 0;
  std::thread thread_;
};

class FloodedServer {
 public:
  using Over = FloodingCaller::Over;

  FloodedServer() {
    std::signal(SIGPIPE, SIG_IGN);
    const TestCertificate pair = authority_.SignServer();
    ReplaceFile(folder_.File("tls.crt"), pair.certificate);
    ReplaceFile(folder_.File("tls.key"), pair.key);
  }

  HeadgatedOptions Options(Over over) const {
    const std::string tls = absl::StrCat("tls: {certificate_file: ", folder_.File("tls.crt"),
                                         ", key_file: ", folder_.File("tls.key"), "}\n");
    return {.yaml = absl::StrCat(kFloodedPolicy, over == Over::kTls ? tls : ""), .stateless = true};
  }

  std::shared_ptr<grpc::Channel> Connect(const RunningHeadgated& server, Over over) const {
    if (over == Over::kPlaintext) return OwnChannel(server.address());
    return OwnChannel(server.address(),
                      grpc::SslCredentials({.pem_root_certs = authority_.certificate(),
                                            .pem_private_key = "",
                                            .pem_cert_chain = ""}));
  }

 private:
  TempFolder folder_;
  CertificateAuthority authority_{"authority"};
};

inline ProcessUsage MemoryOf(const RunningHeadgated& server) {
  return UsageOf(server.pid()).value_or(ProcessUsage());
}

}  // namespace headgate::tls
