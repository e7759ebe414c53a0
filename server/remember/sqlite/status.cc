#include "server/remember/sqlite/status.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::sqlite {
namespace {

struct Meaning {
  absl::StatusCode code;
  std::string_view advice;
};

Meaning MeaningOf(int code) {
  // No room for what WAL mode keeps beside the file.
  if (code == SQLITE_IOERR_SHMSIZE) code = SQLITE_FULL;
  switch (code & 0xff) {  // the rest says more of the same
    case SQLITE_FULL:
      return {absl::StatusCode::kResourceExhausted, "make room on its disk"};
    case SQLITE_CORRUPT:
      return {absl::StatusCode::kDataLoss, "the file is damaged: move it aside or restore it"};
    case SQLITE_NOTADB:
      return {absl::StatusCode::kDataLoss, "the file is no SQLite database: move it aside"};
    case SQLITE_CANTOPEN:
      return {absl::StatusCode::kUnavailable, "see that its folder exists and can be written"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {absl::StatusCode::kPermissionDenied,
              "see that this user may write it and its folder"};
    case SQLITE_IOERR:
      return {absl::StatusCode::kUnavailable, "see whether its disk is in order"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {absl::StatusCode::kUnavailable, "another program has it locked: end that"};
    case SQLITE_INTERRUPT:
      return {absl::StatusCode::kCancelled, "it was interrupted"};
    case SQLITE_NOMEM:
      return {absl::StatusCode::kResourceExhausted, "there is no memory left"};
    case SQLITE_CONSTRAINT:
      return {absl::StatusCode::kAlreadyExists, "a constraint does not hold"};
    default:
      return {absl::StatusCode::kInternal, "this is a mistake in the program"};
  }
}

}  // namespace

absl::Status StatusOf(int code, std::string_view path, std::string_view message) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return absl::OkStatus();
  const Meaning meaning = MeaningOf(code);
  return absl::Status(meaning.code, absl::StrCat(Sv(path), ": ", Sv(message), " (", code, "); ",
                                                 Sv(meaning.advice)));
}

}  // namespace headgate::sqlite
