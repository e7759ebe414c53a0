// Token: the bearer token that goes along with each call, from a file that may change.
//
// Thread-safe.
//
//   absl::StatusOr<std::shared_ptr<Token>> token = Token::Load("/etc/headgate/token", time);
//   credentials = grpc::CompositeChannelCredentials(tls, (*token)->CallCredentials());

#pragma once

#include <grpcpp/security/credentials.h>
#include <headgate/time_source.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/watched_files.h"
#include "common/mutex.h"

namespace headgate::client::internal {

class Token : public std::enable_shared_from_this<Token> {
 public:
  // InvalidArgument: the file cannot be read, or holds no token.
  static absl::StatusOr<std::shared_ptr<Token>> Load(const std::string& file,
                                                     std::shared_ptr<TimeSource> time);

  std::shared_ptr<grpc::CallCredentials> CallCredentials();
  // What the file has now, or had last.
  std::string Get();

 private:
  Token(const std::string& file, std::shared_ptr<TimeSource> time)
      : files_({file}, std::move(time)) {}

  Mutex mutex_;
  WatchedFiles files_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::client::internal
