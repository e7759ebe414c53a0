// ServingThread: what one thread that answers Checks and reports has for itself, however the calls
// come to it.
//
// Who asks is judged first; then the Throttler answers, and a call of which a Check has to wait is
// parked. So is what another server decides (remote_decider.h, serving_thread_remote.cc). Belongs
// to one thread.
//
//   ServingThread thread(dependencies, waiting);
//   grpc::Status status = thread.Check(evidence, request, response, parking);

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string>

#include "server/govern/access/evidence.h"
#include "server/serve/rpc/dependencies.h"
#include "server/serve/rpc/peer_addresses.h"
#include "server/serve/rpc/remote_decider.h"
#include "server/serve/rpc/throttler.h"
#include "server/serve/rpc/waiting_call.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::rpc {

class ServingThread {
 public:
  // Both outlive this.
  ServingThread(const Dependencies& on, const WaitingNeeds& waiting)
      : access_(on.access), remote_decider_(on.remote_decider), throttler_(on), waiting_(waiting) {}
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;

  // What stands in the responses is overwritten.
  grpc::Status Check(const access::Evidence& call, const v1::CheckRequest& check,
                     v1::CheckResponse& response, transport::Parking<v1::CheckResponse>& parking);
  // Of a batch, or of a message of a stream.
  template <typename Response>
  grpc::Status BatchCheck(const access::Evidence& call, const Throttler::Checks& checks,
                          Response& response, transport::Parking<Response>& parking);
  // Where nobody decides for the targets, and there are ApproximateLimits. Nothing waits.
  grpc::Status CheckApproximately(const access::Evidence& call, const v1::CheckRequest& check,
                                  v1::CheckResponse& response);
  grpc::Status BatchCheckApproximately(const access::Evidence& call,
                                       const Throttler::Checks& checks,
                                       v1::BatchCheckResponse& response);
  grpc::Status Report(const access::Evidence& call, const v1::ReportRequest& request,
                      v1::ReportResponse& response,
                      transport::Parking<v1::ReportResponse>& parking);
  // Of permits that this server issued.
  grpc::Status Report(const access::Evidence& call, const v1::ReportRequest& request,
                      v1::ReportResponse& response);
  // Whether the caller may have a stream, and whom it is counted for: one without a name, for all
  // such at its address.
  grpc::Status AdmitStream(const access::Evidence& call, std::string& name);

 private:
  // Ok, with who asks.
  grpc::Status FindAsker(const access::Evidence& call, Asker& asker);

  grpc::Status CheckHere(const access::Evidence& call, const v1::CheckRequest& check,
                         v1::CheckResponse& response,
                         transport::Parking<v1::CheckResponse>& parking);
  template <typename Response>
  grpc::Status BatchCheckHere(const access::Evidence& call, const Throttler::Checks& checks,
                              Response& response, transport::Parking<Response>& parking);
  // What another server decides, all or some of it.
  grpc::Status CheckRemotely(const access::Evidence& call, const v1::CheckRequest& check,
                             transport::Parking<v1::CheckResponse>& parking);
  bool DecidesAllHere(const Throttler::Checks& checks) const;
  template <typename Response>
  grpc::Status SplitBatchCheck(const access::Evidence& call, const Throttler::Checks& checks,
                               transport::Parking<Response>& parking);
  grpc::Status ReportRemotely(const access::Evidence& call, const v1::ReportRequest& request,
                              const v1::ReportResponse& here,
                              transport::Parking<v1::ReportResponse>& parking);

  access::AccessControl& access_;
  RemoteDecider* const remote_decider_;  // null: this server decides for every target
  Throttler throttler_;
  const WaitingNeeds& waiting_;
  PeerAddresses peers_;
};

extern template grpc::Status ServingThread::BatchCheck(const access::Evidence&,
                                                       const Throttler::Checks&,
                                                       v1::BatchCheckResponse&,
                                                       transport::Parking<v1::BatchCheckResponse>&);
extern template grpc::Status ServingThread::BatchCheck(
    const access::Evidence&, const Throttler::Checks&, v1::CheckStreamResponse&,
    transport::Parking<v1::CheckStreamResponse>&);

}  // namespace headgate::rpc
