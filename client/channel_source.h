// ChannelSource: the channel to a server; another one once the client's certificates have changed.
//
// Calls that run keep the channel that they were made on. Thread-safe.
//
//   absl::StatusOr<std::shared_ptr<ChannelSource>> source =
//       ChannelSource::Create(options, arguments, NewRealTime());
//   stub = v1::StatusService::NewStub((*source)->Get());

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <headgate/time_source.h>
#include <headgate/tls.h>

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/token.h"
#include "client/watched_files.h"
#include "common/mutex.h"
#include "common/tls/credentials.h"

namespace headgate::client::internal {

// What Create would say, without a connection or a thread.
absl::Status CheckFiles(const ConnectionOptions& options);

class ChannelSource {
 public:
  // Makes no connection yet. InvalidArgument: a file cannot be read or is not what it should be, a
  // certificate has no key, or a token no TLS.
  static absl::StatusOr<std::shared_ptr<ChannelSource>> Create(
      const ConnectionOptions& options, const grpc::ChannelArguments& arguments,
      const std::shared_ptr<TimeSource>& time);

  // Looks at the files once a second at most.
  std::shared_ptr<grpc::Channel> Get();

 private:
  ChannelSource(const ConnectionOptions& options, const grpc::ChannelArguments& arguments,
                const std::shared_ptr<TimeSource>& time);
  absl::Status Load();
  absl::Status Connect(const WatchedFiles::Texts& texts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionOptions options_;
  const TlsFiles tls_files_;
  grpc::ChannelArguments arguments_;
  const std::shared_ptr<TimeSource> time_;
  std::shared_ptr<Token> token_;  // null: there is none

  Mutex mutex_;
  WatchedFiles files_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::client::internal
