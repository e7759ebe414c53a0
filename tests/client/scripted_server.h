// ScriptedServer: the API on a real socket, answering what a test says, faults included.
//
// Thread-safe; handlers are called on gRPC's threads.
//
//   ScriptedServer server;
//   server.OnCheck([](grpc::ServerContext&, const v1::CheckRequest&, v1::CheckResponse& response) {
//     response.mutable_decision()->set_verdict(v1::VERDICT_ALLOWED);
//     return grpc::Status::OK;
//   });
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace headgate {

class ScriptedServer : public v1::ThrottlerService::Service {
 public:
  using Handler = std::function<grpc::Status(grpc::ServerContext&, const v1::CheckRequest&,
                                             v1::CheckResponse&)>;

  ScriptedServer() { Start(); }
  ~ScriptedServer() override { Stop(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // Again at the same port.
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  // Calls in progress are cut off.
  void Stop() {
    if (server_ != nullptr) server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
    server_ = nullptr;
  }
  bool started() const { return server_ != nullptr; }

  void OnCheck(Handler handler) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    handler_ = std::move(handler);
  }
  // Of all reports, from now on.
  void SetReportResult(v1::ReportResult result) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    report_result_ = std::move(result);
  }
  // All calls with reports, from now on.
  void FailReports(grpc::Status status) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    report_status_ = std::move(status);
  }
  // Calls wait until their callers give up.
  void Hang() {
    OnCheck([](grpc::ServerContext& context, const auto&, auto&) {
      while (!context.IsCancelled()) absl::Notification().WaitForNotificationWithTimeout(kTick);
      return grpc::Status::CANCELLED;
    });
  }

  std::vector<v1::CheckRequest> checks() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return checks_;
  }
  std::vector<v1::PermitReport> reports() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return reports_;
  }

 private:
  static constexpr absl::Duration kTick = absl::Milliseconds(5);

  grpc::Status Check(grpc::ServerContext* context, const v1::CheckRequest* request,
                     v1::CheckResponse* response) override {
    Handler handler;
    {
      MutexLock lock(&mutex_);
      checks_.push_back(*request);
      handler = handler_;
    }
    return handler(*context, *request, *response);
  }

  grpc::Status Report(grpc::ServerContext*, const v1::ReportRequest* request,
                      v1::ReportResponse* response) override {
    MutexLock lock(&mutex_);
    if (!report_status_.ok()) return report_status_;
    for (const v1::PermitReport& report : request->reports()) {
      reports_.push_back(report);
      *response->add_results() = report_result_;
    }
    return grpc::Status::OK;
  }

  static v1::ReportResult Settled() {
    v1::ReportResult result;
    result.set_outcome(v1::REPORT_OUTCOME_SETTLED);
    return result;
  }
  static grpc::Status Allow(grpc::ServerContext&, const v1::CheckRequest&,
                            v1::CheckResponse& response) {
    response.mutable_decision()->set_verdict(v1::VERDICT_ALLOWED);
    response.mutable_decision()->set_permit_id(1);
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  Handler handler_ ABSL_GUARDED_BY(mutex_) = Allow;
  v1::ReportResult report_result_ ABSL_GUARDED_BY(mutex_) = Settled();
  grpc::Status report_status_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::CheckRequest> checks_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::PermitReport> reports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate
