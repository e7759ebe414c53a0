// What became of a call, as HTTP says it.
//
// A status that is Ok is 200, and a Check that is denied 429 with the same body; an error is a
// google.rpc.Status in JSON under the status that google.rpc.Code's comments give for it, but for
// RESOURCE_EXHAUSTED: 503 where trying again may help, so that 429 always is a denial, else 400.
// Where it is known when to ask again, `Retry-After` says so in whole seconds, rounded up.
//
// Pure functions.

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <cstdint>

#include "server/serve/http/message.h"
#include "server/serve/json/json_reader.h"
#include "server/serve/json/json_writer.h"

namespace headgate::gateway {

// `message` is read only of a status that is Ok.
void FillAnswer(const grpc::Status& status, const google::protobuf::Message& message,
                json::JsonWriter& writer, http::Response& response);
void FillError(const grpc::Status& status, http::Response& response);
int HttpStatusOf(const grpc::Status& status);
// Rounded up, and at least 1.
int64_t WholeSeconds(const google::protobuf::Duration& duration);

// INVALID_ARGUMENT, with the field.
grpc::Status ToStatus(const json::JsonFault& fault);

}  // namespace headgate::gateway
