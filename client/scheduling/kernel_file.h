// Small files that the kernel makes: those of /proc, and of cgroups.
//
// Thread-safe.
//
//   std::optional<std::string> text = ReadSmallFile("/proc/self/autogroup");
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace headgate::scheduling {

// Absent: it can't be read.
std::optional<std::string> ReadSmallFile(const std::string& path);

// In one piece. Errors as of StatusOfErrno.
absl::Status WriteSmallFile(const std::string& path, const std::string& text);

// Of calls about a process: NotFound where it is gone, PermissionDenied, Unavailable where the
// kernel takes no more now, else FailedPrecondition. `what` was tried.
absl::Status StatusOfErrno(int error, const std::string& what);

}  // namespace headgate::scheduling
