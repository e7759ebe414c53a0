// A number for all in a configuration file that decides what becomes of a Check of one target.
//
// Servers that share their targets compare them: where two differ, so do the files, and the same
// Check would be answered differently by the one and by the other. What names the machine is left
// out, such as connection strings and addresses, and so is what is about other targets alone. It is
// computed from what stands in the file, so that a default is another number than its value spelled
// out, and a release that knows more fields finds the same one.
//
// Pure functions.
//
//   settings.fingerprint = FingerprintOf(proto, "orders");

#pragma once

#include <headgate/v1/config.pb.h>

#include <cstdint>
#include <string>

namespace headgate::config {

uint64_t FingerprintOf(const v1::Config& proto, const std::string& target);

}  // namespace headgate::config
