// OverrideFile: overrides and their events in a SQLite file, of one process at a time.
//
// A pause, or whatever else an operator orders, is a row here before it is in force. Of the past
// the file keeps the newest events (override_file_history.h). Beside it is a copy, PATH.copy, with
// all that is in force and the last of the events. A file that is damaged is set aside, and the
// copy takes its place. Where nothing can be written (a full disk, a folder of somebody else's) the
// copy is read, and Prepare fails until the next Open.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<OverrideFile>> store = OverrideFile::Open("overrides.db", now);

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/remember/overrides/override.h"
#include "server/remember/overrides/store.h"
#include "server/remember/sqlite/database.h"

namespace headgate::overrides {

class OverrideFile final : public Store {
 public:
  // Makes the file where there is none. DataLoss: it is damaged or no file of ours, and there is no
  // copy; the message says what to do. FailedPrecondition: a newer Headgate's. AlreadyExists:
  // another process has it. NotFound: there is no such folder. Others: it can be neither written
  // nor read.
  static absl::StatusOr<std::unique_ptr<OverrideFile>> Open(const std::string& path,
                                                            absl::Time now);

  // Nobody else changes it, so the revision says nothing.
  absl::StatusOr<Contents> Read() override;
  absl::StatusOr<std::unique_ptr<Change>> Prepare(const Edit& edit, uint64_t revision) override;
  absl::StatusOr<std::vector<Event>> ReadEvents(const EventQuery& query) override;
  bool IsShared() const override { return false; }
  // Where it cannot be written there is none, so that an old one is never taken for a new one.
  absl::Status Copy() override;
  absl::Status unwritable() const override { return unwritable_; }
  std::string restored() const override { return restored_; }

 private:
  class FileChange;
  using Opened = absl::StatusOr<std::unique_ptr<OverrideFile>>;

  OverrideFile(std::string path, sqlite::Database database)
      : path_(std::move(path)), database_(std::move(database)) {}

  static Opened OpenFile(const std::string& path);
  // From the copy, as `why` says that nothing can be written.
  static Opened OpenCopy(const std::string& path, const absl::Status& why);
  // The copy in the place of a damaged file.
  static Opened Restore(const std::string& path, const absl::Status& why, absl::Time now);

  absl::Status Check();
  absl::Status SetUp();
  absl::StatusOr<std::vector<Override>> ReadOpen();
  // Within a transaction.
  absl::Status Write(const Edit& edit);
  absl::Status WriteNothing();
  absl::Status Add(const Override& override);
  absl::Status Finish(int64_t id, const End& end);
  // `id` 0: no override is concerned.
  absl::Status AddEvent(int64_t id, const End& event, const std::string& change = {});

  const std::string path_;
  sqlite::Database database_;
  absl::Status unwritable_;
  std::string restored_;
};

}  // namespace headgate::overrides
