// Store: where overrides and their events are kept, so that they outlive the process.
//
// There are two kinds: a file of this server (override_file.h), and rows that several servers share
// (server/share/store). A change and its event are one transaction, and durable when Commit
// returns. What has ended is marked, so that events can show it, and is kept as long as they are:
// the newest ten thousand, whatever the store.
//
// A revision counts changes of what is in force, whoever makes them. A change is made to what its
// maker knows: where others have changed something since, it is refused with Aborted, and nothing
// has happened.
//
// Thread-compatible.
//
//   absl::StatusOr<Contents> contents = store->Read();
//   auto change = store->Prepare({.made = {override}}, contents->revision);
//   ... put it into force ...
//   absl::Status status = (*change)->Commit();  // else it is undone

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/remember/overrides/override.h"
#include "server/remember/overrides/request.h"

namespace headgate::overrides {

// So many events are kept, the newest of all that ever happened.
inline constexpr int64_t kMaxEvents = 10'000;

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

struct Contents {
  uint64_t revision = 0;
  std::vector<Override> open = {};  // what has not ended; some may have expired
  int64_t last_id = 0;              // the highest there ever was; 0: none
};

// What is written together, in this order, each with its event. One of nothing changes nothing, and
// finds out whether something could be written.
struct Edit {
  std::vector<Override> made = {};
  std::vector<std::pair<int64_t, End>> ended = {};  // by id
  std::optional<Deed> deed = {};                    // changes nothing that is in force
  absl::Time deed_at = {};
};

class Change {
 public:
  virtual ~Change() = default;  // of what was not committed: it is undone
  // Once. Aborted: see above. Unknown: nobody knows whether it has happened, or will yet. Of any
  // other error nothing has happened.
  virtual absl::Status Commit() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // DataLoss for what makes no sense.
  virtual absl::StatusOr<Contents> Read() = 0;
  // `revision` is of the contents that the edit was made to.
  virtual absl::StatusOr<std::unique_ptr<Change>> Prepare(const Edit& edit, uint64_t revision) = 0;
  virtual absl::StatusOr<std::vector<Event>> ReadEvents(const EventQuery& query) = 0;

  // Whether others change it too.
  virtual bool IsShared() const = 0;
  // After a change: writes a copy of all, where one is kept. Its error is worth knowing, and undoes
  // nothing.
  virtual absl::Status Copy() { return absl::OkStatus(); }
  // Why nothing can be written; OK: all can, as far as is known.
  virtual absl::Status unwritable() const { return absl::OkStatus(); }
  // That what was kept was damaged, and where it is now; empty: it was not.
  virtual std::string restored() const { return {}; }
};

}  // namespace headgate::overrides
