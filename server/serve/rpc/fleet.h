// Fleet: the other servers, for questions of people that one server cannot answer alone.
//
// Each is asked on behalf of the caller, whose name this server has found out, and judges by its
// own access control what that one may see. What it is asked by another server it never passes on.
//
// Thread-safe. It may take seconds, where one does not answer.
//
//   for (const Fleet::Reply& reply : fleet.AskOthers({.path = path, .request = request})) ...

#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/share/cluster/view.h"

namespace headgate::rpc {

class Fleet {
 public:
  struct Question {
    const char* path;  // "/headgate.v1.StatusService/GetStatus"
    const google::protobuf::Message& request;
    std::string_view caller = {};  // empty: nobody in particular
    std::string peer = {};         // as gRPC has it
  };
  struct Reply {
    std::string member;
    grpc::Status status;   // UNAVAILABLE, DEADLINE_EXCEEDED: it did not answer
    std::string response;  // serialized
  };

  virtual ~Fleet() = default;

  virtual cluster::ClusterView View() = 0;
  // All that are here, at once; in the order of their names.
  virtual std::vector<Reply> AskOthers(const Question& question) = 0;
  virtual Reply Ask(const std::string& member, const Question& question) = 0;
  // Has the others put into force what overrides there are by now. The names of those that did not
  // say in time that they have; they will by their next rounds.
  virtual std::vector<std::string> SpreadOverrides(uint64_t revision) = 0;
};

}  // namespace headgate::rpc
