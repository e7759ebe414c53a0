// Overrides and their events in a SQLite file.
//
// A change and its event are one transaction, and on the disk when Commit returns. Nothing is ever
// deleted: what has ended is marked, so that events can show it. One process at a time.
//
// Thread-compatible.
//
//   absl::StatusOr<sqlite::Transaction> change = store->Begin();
//   absl::Status status = store->Add(override);
//   if (status.ok()) status = change->Commit();  // else it is undone

#ifndef HEADGATE_SERVER_OVERRIDES_STORE_H_
#define HEADGATE_SERVER_OVERRIDES_STORE_H_

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
  // Makes the file where there is none. DataLoss: it is damaged or no file of ours, and the message
  // says what to do; Unavailable: it cannot be opened, written, or another process has it.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path);

  // What has not ended; some may have expired. DataLoss for what makes no sense.
  absl::StatusOr<std::vector<Override>> ReadOpen();
  // The highest id there ever was; 0: none.
  absl::StatusOr<int64_t> LastId();
  absl::StatusOr<std::vector<Event>> ReadEvents(const EventQuery& query);

  absl::StatusOr<sqlite::Transaction> Begin() { return sqlite::Transaction::Begin(database_); }
  // Within a transaction.
  absl::Status Add(const Override& override);
  absl::Status Finish(int64_t id, const End& end);

 private:
  explicit Store(sqlite::Database database) : database_(std::move(database)) {}

  absl::Status SetUp();
  absl::Status AddEvent(int64_t id, const End& event);

  sqlite::Database database_;
};

}  // namespace headgate::overrides

#endif  // HEADGATE_SERVER_OVERRIDES_STORE_H_
