// What SQLite says is wrong, as a status that names the file and what to do.
//
// ResourceExhausted: the disk, or the file's limit, is full. DataLoss: the file is corrupt, or no
// database. PermissionDenied: this user may not write it. Unavailable: it cannot be opened or read,
// or is busy. AlreadyExists: a constraint was violated. Internal: the program misused SQLite.
//
// Pure function.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace headgate::sqlite {

// `code` is SQLite's, extended or not; OK for those that are no errors. `message` is SQLite's too.
absl::Status StatusOf(int code, std::string_view path, std::string_view message);

}  // namespace headgate::sqlite
