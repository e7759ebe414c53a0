// A file that is replaced whole, or not at all.
//
// Replace writes a draft beside the file, has it on disk, and renames it over the file; a reader
// sees the old one or the new one, whatever happens in between, and after a power cut too. The file
// is its owner's alone (mode 0600): a snapshot holds the key of the process's hashes.
//
// Stateless; errors name the path and what the system said.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/remember/snapshot/format.h"

namespace headgate::snapshot {

// ResourceExhausted: no room. PermissionDenied: read-only or forbidden. NotFound: there is no such
// folder. Else Unavailable.
absl::Status Replace(const std::string& path, std::string_view bytes);

// NotFound: there is none, nor maybe a folder. PermissionDenied: it is somebody else's.
// Unavailable: it cannot be read. DataLoss: it is no file, or too large. Where its header is wrong,
// what Decode would say: then no more is read, nor room made for it.
absl::StatusOr<std::string> Read(const std::string& path);

// Tells a file from another one that was put in its place.
struct FileId {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0;
  bool operator==(const FileId&) const = default;
};
// Which file the path names now; none where it names nothing.
std::optional<FileId> Identify(const std::string& path);

// Renames the file to PATH.refused, or to PATH.refused.1 to .9 where that is taken, and returns the
// name. AlreadyExists: all of them are. Others as of Replace.
absl::StatusOr<std::string> SetAside(const std::string& path);

// Tells one start of the machine from another; zeros where the system does not say.
BootId ReadBootId();

}  // namespace headgate::snapshot
