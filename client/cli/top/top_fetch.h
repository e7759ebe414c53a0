// Everything that `top` shows, asked for in the background: a live view must be able to end while a
// server does not answer.
//
// Thread-compatible: one thread starts, takes and destroys.
//
//   TopFetch fetch(connection, "");
//   fetch.Start();
//   ... poll fetch.ready_fd() ...
//   absl::StatusOr<TopAnswers> answers = fetch.Take();

#pragma once

#include <headgate/v1/status_service.pb.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/connection/connection.h"
#include "common/file_descriptor.h"

namespace headgate::cli {

// One answer of each call.
struct TopAnswers {
  v1::GetStatusResponse status;
  v1::ListBudgetsResponse budgets;
  v1::ListBucketsResponse buckets;
  v1::ListLinesResponse lines;  // none from a server that is older
};

class TopFetch {
 public:
  // The connection must outlive it.
  TopFetch(Connection& connection, const std::string& target);
  // Cancels what is under way, and waits for that.
  ~TopFetch();
  TopFetch(const TopFetch&) = delete;
  TopFetch& operator=(const TopFetch&) = delete;

  // Does nothing while a fetch is under way.
  void Start();
  // Readable from when the fetch is done until it is taken.
  int ready_fd() const { return ready_.number(); }
  // Waits until the fetch that was started is done. The error is the first that any call met.
  absl::StatusOr<TopAnswers> Take();

 private:
  struct Round;

  Connection& connection_;
  const std::string target_;
  const FileDescriptor ready_;  // an eventfd
  std::unique_ptr<Round> round_;
};

}  // namespace headgate::cli
