// What freno's clients ask (https://github.com/github/freno, doc/http.md): `GET|HEAD
// /check/APP/STORE-TYPE/STORE`, may this app write to that store now?
//
// The app is an identity, the store a target, and its type is not looked at. What is answered is
// what a Check of cost 0 would be that charges nothing: the target's health, rules, and budgets
// that owe more than they may. 200: go on. 417: a rule or an override is against it. 429: not now.
// 404: no such target. 500: the server could not tell. And, which freno has not: 400, no such
// identity, 401 and 403, whoever asks may not, and 503, the server has too much to do or is about
// to stop.
//
// Pure functions.
//
//   if (ReadFrenoPath(request.path, check)) ...

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string_view>

#include "server/serve/http/message.h"

namespace headgate::gateway {

// Whether the path is one of these: then that is what is to be checked. Its strings are whatever
// bytes were sent.
bool ReadFrenoPath(std::string_view path, v1::CheckRequest& check);

// INVALID_ARGUMENT where they are not text, as strings of other calls always are: another server
// that is to decide could not read them.
grpc::Status ValidateFreno(const v1::CheckRequest& check);

// With freno's body: StatusCode, Value, Threshold, Message. The value is the pressure of the worst
// signal, whose threshold is 1.
void FillFrenoAnswer(const grpc::Status& status, const v1::Decision& decision,
                     http::Response& response);

}  // namespace headgate::gateway
