#include "client/cli/agent/agent_stream.h"

#include <grpc/support/time.h>

#include <string_view>

namespace headgate::cli {
namespace {

constexpr char kOwnerKey[] = "headgate-owner";

}  // namespace

AgentStream::AgentStream(const std::shared_ptr<grpc::Channel>& channel, absl::Duration limit)
    : limit_(limit),
      stub_(v1::AgentService::NewStub(channel)),
      stream_(stub_->PrepareAsyncWatch(&context_, &queue_)) {}

void AgentStream::Close() {
  if (!is_open_) return;
  stream_->WritesDone(this);
  Await();
  End();
}

AgentStream::~AgentStream() {
  Close();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

grpc::Status AgentStream::Tell(const v1::WatchRequest& request, v1::WatchResponse& response) {
  if (!is_open_) {
    is_open_ = true;
    stream_->StartCall(this);
    if (!Await()) return End();
  }
  stream_->Write(request, this);
  if (!Await()) return End();
  stream_->Read(&response, this);
  return Await() ? grpc::Status() : End();
}

bool AgentStream::Await() {
  void* tag = nullptr;
  bool ok = false;
  // A span from now on, so that only gRPC reads the clock.
  const gpr_timespec limit = gpr_time_from_nanos(absl::ToInt64Nanoseconds(limit_), GPR_TIMESPAN);
  if (queue_.AsyncNext(&tag, &ok, limit) != grpc::CompletionQueue::TIMEOUT) return ok;
  is_late_ = true;
  context_.TryCancel();
  queue_.Next(&tag, &ok);  // at once, as it is cancelled
  return false;
}

grpc::Status AgentStream::End() {
  is_open_ = false;
  grpc::Status status;
  stream_->Finish(&status, this);
  Await();
  if (is_late_) return {grpc::StatusCode::DEADLINE_EXCEEDED, "it does not answer"};
  if (status.ok()) return {grpc::StatusCode::UNAVAILABLE, "it has ended the stream"};
  return status;
}

std::string AgentStream::owner_address() const {
  const auto& metadata = context_.GetServerTrailingMetadata();
  const auto found = metadata.find(kOwnerKey);
  if (found == metadata.end()) return "";
  const std::string_view hint(found->second.data(), found->second.size());
  return std::string(hint.substr(0, hint.find(' ')));
}

}  // namespace headgate::cli
