// WorkerCalls: the methods that may take a while, over HTTP, each call on a worker: one by itself,
// or several that read in one request, `POST /v1/batch_read`.
//
// A batch is for whoever looks at many things each second, such as the page: it costs the server
// one request, and each of its calls is answered as it would be by itself. What pages ask is shared
// (shared_answers.h), and where all of it was answered a moment ago no worker is needed.
//
// Belongs to the port's thread. The API outlives it; its end waits for the calls that run, and
// refuses those that wait.
//
//   WorkerCalls calls(api, {.threads = 2}, ending);
//   if (calls.Has(request.path)) return calls.Answer(request, response, exchange);

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/serve/gateway/incoming_call.h"
#include "server/serve/gateway/shared_answers.h"
#include "server/serve/http/handler.h"
#include "server/serve/http/workers.h"
#include "server/serve/rpc/api.h"
#include "server/serve/transport/calls.h"

namespace headgate::gateway {

class WorkerCalls {
 public:
  static constexpr std::string_view kBatchPath = "/v1/batch_read";
  static constexpr size_t kMostCalls = 8;  // of a batch

  // `ending`: whether calls that have not begun are refused. It outlives this.
  WorkerCalls(const rpc::Api& api, const http::WorkersOptions& workers,
              const std::atomic<bool>& ending);

  bool Has(std::string_view path) const;
  // Requires a path that it has. Returns as Handle does.
  bool Answer(const http::Request& request, http::Response& response, http::Exchange& exchange);

 private:
  struct Method {
    std::string path;
    const rpc::Method* rpc;
    transport::MethodCalls* counts;
  };
  struct Question {
    const Method* method = nullptr;
    std::string body = {};       // of a batch's; a request by itself has the call's
    std::string shared_as = {};  // empty: it is not
    http::Response answer = {};
    bool is_answered = false;
  };
  // What one request asks.
  struct Questions {
    std::vector<Question> all;
    bool is_batch = false;
    bool changes = false;
    int64_t asked_ns = 0;
  };

  // False: it is answered, with what is wrong.
  bool Read(const http::Request& request, Questions& asked, http::Response& response) const;
  // Takes what is shared. False: it is answered, since nobody knows who asks.
  bool TakeShared(const http::Request& request, Questions& asked, http::Response& response);
  // By a worker: what is not answered yet.
  void Work(Questions& asked, const CallOnWorker& call);
  http::Response Run(const Method& method, std::string_view body, const CallOnWorker& call) const;
  static void Tell(Questions& asked, http::Response& response);

  const rpc::Api& api_;
  const std::atomic<bool>& ending_;
  absl::flat_hash_map<std::string, Method> methods_;  // by path
  SharedAnswers shared_;
  http::Workers workers_;  // the last: they use all above
};

// "/v1/list_budgets" of "/headgate.v1.StatusService/ListBudgets".
std::string PathOf(std::string_view method_path);

}  // namespace headgate::gateway
