// What is told to whoever sends a request that no handler sees: a google.rpc.Status in JSON, as the
// errors of the API are.
//
//   response.body = RefusalText(413);

#pragma once

#include <string>

namespace headgate::http {

// What is said with a status that RequestParser refuses with, or with 503.
std::string RefusalText(int status);

}  // namespace headgate::http
