#include "server/remember/sqlite/copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file_descriptor.h"

namespace headgate::sqlite {
namespace {

absl::Status ErrorOf(const std::string& path, int error) {
  return absl::ErrnoToStatus(error, path);
}

absl::Status Sync(const std::string& path, int flags) {
  const FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
  return file.ok() && fsync(file.number()) == 0 ? absl::OkStatus() : ErrorOf(path, errno);
}

// On the disk under its new name when it returns.
absl::Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return ErrorOf(to, errno);
  return Sync(std::filesystem::path(to).parent_path().string(), O_RDONLY | O_DIRECTORY);
}

absl::Status WriteInto(Database& database, const std::string& file, FillCopy fill) {
  absl::Status status =
      database.Run(absl::StrCat("ATTACH '", absl::StrReplaceAll(file, {{"'", "''"}}), "' AS copy"));
  if (!status.ok()) return status;
  // Nobody reads it before it is whole: it needs no journal, and is flushed when it is.
  status = database.Run("PRAGMA copy.journal_mode = MEMORY; PRAGMA copy.synchronous = OFF");
  if (status.ok()) {
    absl::StatusOr<Transaction> transaction = Transaction::Begin(database, Access::kRead);
    status = transaction.status();
    if (status.ok()) status = fill(database);
    if (status.ok()) status = transaction->Commit();
  }
  absl::Status detached = database.Run("DETACH copy");
  return status.ok() ? detached : status;
}

}  // namespace

absl::Status WriteCopy(Database& database, const std::string& path, FillCopy fill) {
  const std::string draft = absl::StrCat(path, ".new");
  // What is there is not written to: a pipe would have to be read by somebody.
  if (std::remove(draft.c_str()) != 0 && errno != ENOENT) return ErrorOf(draft, errno);
  // SQLite would let everybody read it. An empty file is as good as none.
  FileDescriptor file(
      open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.ok()) return ErrorOf(draft, errno);
  file.Close();
  absl::Status status = WriteInto(database, draft, fill);
  if (status.ok()) status = Sync(draft, O_RDWR);
  if (status.ok()) status = Rename(draft, path);
  if (!status.ok()) std::remove(draft.c_str());
  return status;
}

absl::StatusOr<Database> CopyToMemory(Database& database) {
  absl::StatusOr<Database> copy = Database::Open(":memory:", {});
  if (!copy.ok()) return copy;
  if (absl::Status status = copy->TakeAllOf(database); !status.ok()) return status;
  return copy;
}

absl::StatusOr<std::string> SetAside(const std::string& path, absl::Time now) {
  const std::string aside = absl::StrCat(path, ".corrupt-", absl::ToUnixSeconds(now));
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (exists) {
    if (absl::Status renamed = Rename(path, aside); !renamed.ok()) return renamed;
  }
  // Else SQLite would take it for that of the next database of this name.
  std::filesystem::rename(path + "-wal", aside + "-wal", error);
  std::filesystem::remove(path + "-shm", error);
  return exists ? aside : "";
}

absl::StatusOr<std::string> RestoreCopy(const std::string& copy, const std::string& path,
                                        absl::Time now) {
  const std::string draft = absl::StrCat(path, ".new");
  std::error_code error;
  std::filesystem::copy_file(copy, draft, std::filesystem::copy_options::overwrite_existing, error);
  absl::Status status = error ? ErrorOf(draft, error.value()) : Sync(draft, O_RDWR);
  absl::StatusOr<std::string> aside = status.ok() ? SetAside(path, now) : status;
  if (!aside.ok()) {
    std::remove(draft.c_str());
    return aside;
  }
  if (status = Rename(draft, path); !status.ok()) return status;
  return aside;
}

}  // namespace headgate::sqlite
