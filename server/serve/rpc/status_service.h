// headgate.v1.StatusService: what is configured, what is measured, who is held back now.
//
// Runs on gRPC's threads and reads whole tables: for people and their tools. Where there are other
// servers, it asks them too, which may take seconds. Thread-safe.

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/status_service.pb.h>

#include <functional>
#include <string>
#include <vector>

#include "server/decide/line/waiting_lines.h"
#include "server/serve/rpc/dependencies.h"
#include "server/serve/rpc/guarded_service.h"
#include "server/serve/transport/acceptor.h"

namespace headgate::rpc {

class StatusService final : public GuardedService {
 public:
  // `connections` is asked while the server runs, by any thread.
  StatusService(std::string version, const Dependencies& on,
                std::function<transport::ConnectionCounts()> connections);

 private:
  // A method for those who may read status.
  template <typename Request, typename Response>
  void AddForReaders(const char* path,
                     grpc::Status (StatusService::*run)(const Asked&, const Request&, Response&));

  grpc::Status GetStatus(const Asked& asked, const v1::GetStatusRequest& request,
                         v1::GetStatusResponse& response);
  grpc::Status ListBudgets(const Asked& asked, const v1::ListBudgetsRequest& request,
                           v1::ListBudgetsResponse& response);
  grpc::Status ListBuckets(const Asked& asked, const v1::ListBucketsRequest& request,
                           v1::ListBucketsResponse& response);
  void FillLines(const std::string& target, Now now, v1::GetStatusResponse& response) const;
  grpc::Status ListLines(const Asked& asked, const v1::ListLinesRequest& request,
                         v1::ListLinesResponse& response);
  grpc::Status ListLeases(const Asked& asked, const v1::ListLeasesRequest& request,
                          v1::ListLeasesResponse& response);
  grpc::Status GetConfiguration(const Asked& asked, const v1::GetConfigurationRequest& request,
                                v1::GetConfigurationResponse& response);
  grpc::Status ListRules(const Asked& asked, const v1::ListRulesRequest& request,
                         v1::ListRulesResponse& response);

  const std::string version_;
  engine::Engine& engine_;
  Clock& clock_;
  StatusSource& source_;
  const line::WaitingLines& lines_;
  Fleet* const fleet_;  // null: this server is alone
  const std::function<transport::ConnectionCounts()> connections_;
};

}  // namespace headgate::rpc
