// AgentStream: one call of AgentService.Watch, each step of which ends within a limit.
//
// For one thread, but for Cancel, which is any's.
//
//   AgentStream stream(channel, absl::Seconds(2));
//   grpc::Status status = stream.Tell(request, response);

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/agent_service.grpc.pb.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace headgate::cli {

class AgentStream {
 public:
  // Nothing is sent yet.
  AgentStream(const std::shared_ptr<grpc::Channel>& channel, absl::Duration limit);
  // Closes it.
  ~AgentStream();
  AgentStream(const AgentStream&) = delete;
  AgentStream& operator=(const AgentStream&) = delete;

  // Sends a message and waits for its answer. Any error is the end of the stream.
  grpc::Status Tell(const v1::WatchRequest& request, v1::WatchResponse& response);
  // Ends it in good order, within the limit. Harmless for one that has ended.
  void Close();
  // Where the server is that decides for the target, as the end of the stream has said; empty: it
  // has not.
  std::string owner_address() const;
  // What is under way ends soon.
  void Cancel() { context_.TryCancel(); }

 private:
  // The end of the step that is under way: whether it succeeded.
  bool Await();
  // How the stream ends.
  grpc::Status End();

  const absl::Duration limit_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::WatchRequest, v1::WatchResponse>> stream_;
  bool is_open_ = false;
  bool is_late_ = false;
};

}  // namespace headgate::cli
