// What became of every RPC of a soak: counted where it was expected, kept in words where it was
// not.
//
// Thread-safe.
//
//   Calls calls;
//   if (calls.Expect("log query", status, {grpc::StatusCode::UNAVAILABLE})) ... it was answered ...
//   for (const std::string& surprise : calls.surprises()) ...

#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace headgate::soak {

struct CallCounts {
  int64_t ok = 0;
  int64_t refused = 0;  // with an error that was expected
};

class Calls {
 public:
  // Whether it is OK. Another status than OK and the `expected` is a surprise.
  bool Expect(const std::string& call, const grpc::Status& status,
              std::initializer_list<grpc::StatusCode> expected = {});
  // Something else that must hold.
  void Require(bool holds, const std::string& what);

  std::map<std::string, CallCounts> counts() const;
  // The first few of them, and how many there were.
  std::vector<std::string> surprises() const;
  int64_t surprise_count() const;

 private:
  void Surprise(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, CallCounts> counts_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> surprises_ ABSL_GUARDED_BY(mutex_);
  int64_t surprise_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace headgate::soak
