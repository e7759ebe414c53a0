// Overrides and their events in a SQLite file.
//
// A change and its event are one transaction, and on the disk when Commit returns. Nothing is ever
// deleted: what has ended is marked, so that events can show it. One process at a time.
//
// Beside the file is a copy, PATH.copy, with all that was acknowledged. A file that is damaged is
// set aside, and the copy takes its place. Where nothing can be written (a full disk, a folder of
// somebody else's) the copy is read, and Begin fails until the next Open.
//
// Thread-compatible.
//
//   absl::StatusOr<sqlite::Transaction> change = store->Begin();
//   absl::Status status = store->Add(override);
//   if (status.ok()) status = change->Commit();  // else it is undone
//   store->Copy();

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/overrides/override.h"
#include "server/overrides/request.h"
#include "server/sqlite/database.h"

namespace headgate::overrides {

// The newest first.
struct EventQuery {
  int64_t override_id = 0;  // 0: of all
  absl::Time from = absl::InfinitePast();
  absl::Time to = absl::InfiniteFuture();  // exclusive
  int64_t before_id = 0;                   // only events with a lower id; 0: all
  size_t most = 100;
};

// How an override ended.
struct End {
  EventKind kind = EventKind::kDeleted;
  absl::Time at;
  std::string actor = {};
  std::string reason = {};
};

class Store {
 public:
  // Makes the file where there is none. DataLoss: it is damaged or no file of ours, and there is no
  // copy; the message says what to do. FailedPrecondition: a newer Headgate's. AlreadyExists:
  // another process has it. NotFound: there is no such folder. Others: it can be neither written
  // nor read.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path, absl::Time now);

  // Why nothing can be written; OK: all can.
  const absl::Status& unwritable() const { return unwritable_; }
  // That the file was damaged, and where it is now; empty: it was not.
  const std::string& restored() const { return restored_; }

  // What has not ended; some may have expired. DataLoss for what makes no sense.
  absl::StatusOr<std::vector<Override>> ReadOpen();
  // The highest id there ever was; 0: none.
  absl::StatusOr<int64_t> LastId();
  absl::StatusOr<std::vector<Event>> ReadEvents(const EventQuery& query);

  absl::StatusOr<sqlite::Transaction> Begin();
  // Within a transaction.
  absl::Status Add(const Override& override);
  absl::Status Finish(int64_t id, const End& end);
  absl::Status AddDeed(const Deed& deed, absl::Time at);

  // After a change, before it is acknowledged. Where it cannot be written there is none, so that
  // an old one is never taken for a new one.
  absl::Status Copy();

 private:
  using Opened = absl::StatusOr<std::unique_ptr<Store>>;

  Store(std::string path, sqlite::Database database)
      : path_(std::move(path)), database_(std::move(database)) {}

  static Opened OpenFile(const std::string& path);
  // From the copy, as `why` says that nothing can be written.
  static Opened OpenCopy(const std::string& path, const absl::Status& why);
  // The copy in the place of a damaged file.
  static Opened Restore(const std::string& path, const absl::Status& why, absl::Time now);

  absl::Status Check();
  absl::Status SetUp();
  // `id` 0: no override is concerned.
  absl::Status AddEvent(int64_t id, const End& event, const std::string& change = {});

  const std::string path_;
  sqlite::Database database_;
  absl::Status unwritable_;
  std::string restored_;
};

}  // namespace headgate::overrides
