// What would have to change for a Check to be allowed, in sentences.
//
// Pure function; thread-safe.

#ifndef HEADGATE_CLIENT_CLI_ADVICE_H_
#define HEADGATE_CLIENT_CLI_ADVICE_H_

#include <headgate/v1/throttler_service.pb.h>

#include <string>
#include <vector>

namespace headgate::cli {

// One for each limit that denies; all of them have to be met. Empty where the Check is allowed.
std::vector<std::string> WhatWouldHelp(const v1::ExplainResponse& explanation);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_ADVICE_H_
