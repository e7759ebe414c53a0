#include "server/remember/overrides/override_file.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/remember/overrides/override_file_history.h"
#include "server/remember/overrides/request.h"
#include "server/remember/sqlite/copy.h"
#include "server/remember/sqlite/statement.h"

namespace headgate::overrides {
namespace {

// A file is of version 2 once there has been an override of everything in it: those before know of
// none. Until then an older Headgate can go on with it.
constexpr int64_t kSchemaVersion = 2;
constexpr int64_t kFirstVersion = 1;

// Stands for everything where there would be an identity: it is none itself.
constexpr char kEverything[] = "*";

// Columns of an override, in the order that ReadOverride takes them.
constexpr char kColumns[] =
    "o.id, o.kind, o.identity, o.segment, o.target, o.ratio, o.actor, o.reason, o.created_at_ns, "
    "o.expires_at_ns";
constexpr int kColumnCount = 10;
constexpr int64_t kMaxKind = static_cast<int64_t>(Kind::kResume);

Override ReadOverride(const sqlite::Statement& row) {
  Override override;
  override.id = row.Int(0);
  const int64_t kind = row.Int(1);
  override.kind = static_cast<Kind>(kind >= 0 && kind <= kMaxKind ? kind : 0);
  const bool everything = row.Text(2) == kEverything;
  override.selector = {.identity = everything ? "" : std::string(row.Text(2)),
                       .segment = std::string(row.Text(3)),
                       .everything = everything,
                       .target = std::string(row.Text(4))};
  override.ratio = row.Double(5);
  override.actor = row.Text(6);
  override.reason = row.Text(7);
  override.created_at = absl::FromUnixNanos(row.Int(8));
  if (!row.IsNull(9)) override.expires_at = absl::FromUnixNanos(row.Int(9));
  return override;
}

std::string CopyOf(const std::string& path) { return absl::StrCat(path, ".copy"); }

// Who wants to begin with none removes both.
bool IsLost(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(CopyOf(path), error) && !std::filesystem::exists(path, error) &&
         !error;
}

// What is wrong with the file itself, where there is no copy, takes a decision of the operator's:
// to go on without the overrides would be to run what somebody has paused.
absl::Status Explained(const std::string& path, const absl::Status& status) {
  if (!absl::IsDataLoss(status) && !absl::IsInternal(status)) {
    return absl::Status(status.code(),
                        absl::StrCat("the overrides cannot be opened: ", status.message()));
  }
  return absl::DataLossError(absl::StrCat(
      "the overrides in ", path, " cannot be read: ", status.message(),
      ". Headgate does not start without them, as it would run what somebody has paused. Restore "
      "the file from a backup; or, to start with none, move it away: mv ",
      path, " ", path, ".broken; rm -f ", path, "-wal ", path, "-shm ", CopyOf(path)));
}

}  // namespace

OverrideFile::Opened OverrideFile::Open(const std::string& path, absl::Time now) {
  Opened opened =
      IsLost(path) ? absl::DataLossError(absl::StrCat(path, " is gone")) : OpenFile(path);
  if (opened.ok()) {
    // What cannot be written now will be said by the next change.
    sqlite::WriteCopy((*opened)->database_, CopyOf(path), FillCopy).IgnoreError();
    return opened;
  }
  absl::Status why = opened.status();
  const bool is_another_matter =
      absl::IsAlreadyExists(why) || absl::IsNotFound(why) || absl::IsFailedPrecondition(why);
  if (is_another_matter) return Explained(path, why);
  opened = absl::IsDataLoss(why) ? Restore(path, why, now) : OpenCopy(path, why);
  if (opened.ok()) return opened;
  // What is in the way of the copy is worth knowing: it may be all that is wrong.
  if (opened.status() != why) {
    why = absl::Status(
        why.code(),
        absl::StrCat(why.message(), "; nor is there a copy: ", opened.status().message()));
  }
  return Explained(path, why);
}

OverrideFile::Opened OverrideFile::OpenFile(const std::string& path) {
  absl::StatusOr<sqlite::Database> database =
      sqlite::Database::Open(path, {.durability = sqlite::Durability::kFull});
  if (!database.ok()) return database.status();
  std::unique_ptr<OverrideFile> store(new OverrideFile(path, *std::move(database)));
  if (absl::Status status = store->SetUp(); !status.ok()) return status;
  return store;
}

OverrideFile::Opened OverrideFile::Restore(const std::string& path, const absl::Status& why,
                                           absl::Time now) {
  const Opened copy = OpenCopy(path, why);
  if (!copy.ok()) return copy.status();
  const absl::StatusOr<std::string> aside = sqlite::RestoreCopy(CopyOf(path), path, now);
  if (!aside.ok()) return OpenCopy(path, aside.status());
  Opened opened = OpenFile(path);
  if (opened.ok()) {
    (*opened)->restored_ =
        absl::StrCat(why.message(), aside->empty() ? "" : absl::StrCat(". It is ", *aside, " now"),
                     "; a copy with all that was acknowledged takes its place");
  }
  return opened;
}

OverrideFile::Opened OverrideFile::OpenCopy(const std::string& path, const absl::Status& why) {
  std::error_code error;
  const bool has_copy = std::filesystem::exists(CopyOf(path), error);
  // Without a file nothing was ever acknowledged.
  if (!has_copy && (error || std::filesystem::exists(path, error) || error)) return why;
  absl::StatusOr<sqlite::Database> database = sqlite::Database::Open(
      has_copy ? CopyOf(path) : ":memory:",
      {.access = has_copy ? sqlite::Access::kReadCopy : sqlite::Access::kWrite});
  if (!database.ok()) return database.status();
  std::unique_ptr<OverrideFile> store(new OverrideFile(path, *std::move(database)));
  absl::Status status = has_copy ? store->Check() : store->SetUp();
  if (!status.ok()) return status;
  store->unwritable_ = absl::Status(
      why.code(), absl::StrCat(why.message(), ", then restart headgated to change overrides"));
  return store;
}

// Whether it is one of ours, and whole.
absl::Status OverrideFile::Check() {
  absl::StatusOr<sqlite::Statement> check = database_.Prepare("PRAGMA integrity_check(1)");
  if (!check.ok()) return check.status();
  const absl::StatusOr<bool> row = check->Step();
  if (!row.ok()) return row.status();
  if (check->Text(0) != "ok") return absl::DataLossError(Sv(check->Text(0)));
  check->Reset();
  if (absl::Status events = ReadEvents({.most = 1}).status(); !events.ok()) {
    return absl::DataLossError(events.message());
  }
  return ReadOpen().status();
}

absl::Status OverrideFile::SetUp() {
  const absl::StatusOr<int64_t> version = database_.QueryInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(database_.path(),
                     " was written by a newer Headgate: start that one, or give this one a "
                     "folder of its own"));
  }
  if (*version != 0) {
    if (absl::Status status = Check(); !status.ok()) return status;
  }
  absl::StatusOr<sqlite::Transaction> change = sqlite::Transaction::Begin(database_);
  if (!change.ok()) return change.status();
  absl::Status status = *version == 0 ? MakeTables(database_, "main") : absl::OkStatus();
  if (status.ok()) status = MakeLaterTables(database_, "main");
  if (status.ok()) status = TrimAll(database_);
  // Written each time: a file that cannot be is found out now.
  if (status.ok()) {
    status = database_.Run(
        absl::StrCat("PRAGMA user_version = ", *version == 0 ? kFirstVersion : *version));
  }
  if (status.ok()) status = change->Commit();
  if (status.ok()) ShrinkFile(database_).IgnoreError();  // it is of use as it is
  return status;
}

class OverrideFile::FileChange final : public Change {
 public:
  explicit FileChange(sqlite::Transaction transaction) : transaction_(std::move(transaction)) {}
  absl::Status Commit() override { return transaction_.Commit(); }

 private:
  sqlite::Transaction transaction_;
};

absl::StatusOr<std::unique_ptr<Change>> OverrideFile::Prepare(const Edit& edit,
                                                              uint64_t /*revision*/) {
  if (!unwritable_.ok()) return unwritable_;
  absl::StatusOr<sqlite::Transaction> transaction = sqlite::Transaction::Begin(database_);
  if (!transaction.ok()) return transaction.status();
  if (absl::Status written = Write(edit); !written.ok()) return written;
  return std::make_unique<FileChange>(*std::move(transaction));
}

absl::Status OverrideFile::Write(const Edit& edit) {
  if (edit.made.empty() && edit.ended.empty() && !edit.deed.has_value()) return WriteNothing();
  for (const Override& override : edit.made) {
    if (absl::Status added = Add(override); !added.ok()) return added;
  }
  for (const auto& [id, end] : edit.ended) {
    if (absl::Status finished = Finish(id, end); !finished.ok()) return finished;
  }
  if (edit.deed.has_value()) {
    const End done{.kind = edit.deed->kind,
                   .at = edit.deed_at,
                   .actor = edit.deed->actor,
                   .reason = edit.deed->reason};
    if (absl::Status added = AddEvent(0, done, edit.deed->change); !added.ok()) return added;
  }
  return TrimHistory(database_);
}

// A page of the file, as it is.
absl::Status OverrideFile::WriteNothing() {
  const absl::StatusOr<int64_t> version = database_.QueryInt("PRAGMA user_version");
  if (!version.ok()) return version.status();
  return database_.Run(absl::StrCat("PRAGMA user_version = ", *version));
}

absl::Status OverrideFile::Copy() {
  absl::Status status = sqlite::WriteCopy(database_, CopyOf(path_), FillCopy);
  if (!status.ok()) std::remove(CopyOf(path_).c_str());
  return status;
}

absl::StatusOr<std::vector<Override>> OverrideFile::ReadOpen() {
  absl::StatusOr<sqlite::Statement> query = database_.Prepare(
      absl::StrCat("SELECT ", kColumns, " FROM overrides o WHERE o.ended = 0 ORDER BY o.id"));
  std::vector<Override> open;
  absl::Status status = query.status();
  if (status.ok()) {
    status = query->Each([&] {
      open.push_back(ReadOverride(*query));
      return true;
    });
  }
  for (const Override& override : open) {
    if (!MakesSense(override)) {
      status.Update(absl::DataLossError(absl::StrCat("override ", override.id, " makes no sense")));
    }
  }
  if (!status.ok()) return status;
  return open;
}

absl::StatusOr<Contents> OverrideFile::Read() {
  absl::StatusOr<std::vector<Override>> open = ReadOpen();
  if (!open.ok()) return open.status();
  const absl::StatusOr<int64_t> last =
      database_.QueryInt("SELECT coalesce(max(id), 0) FROM overrides");
  if (!last.ok()) return last.status();
  return Contents{.open = *std::move(open), .last_id = *last};
}

absl::StatusOr<std::vector<Event>> OverrideFile::ReadEvents(const EventQuery& query) {
  // An older Headgate's file that cannot be written has none.
  const absl::StatusOr<int64_t> has_changes =
      database_.QueryInt("SELECT count(*) FROM sqlite_master WHERE name = 'changes'");
  if (!has_changes.ok()) return has_changes.status();
  const char* const change =
      *has_changes == 0 ? "''" : "(SELECT change FROM changes WHERE event_id = e.id)";
  absl::StatusOr<sqlite::Statement> events = database_.Prepare(
      absl::StrCat("SELECT ", kColumns, ", e.id, e.happened_at_ns, e.kind, e.actor, e.reason, ",
                   change, " FROM events e LEFT JOIN overrides o ON o.id = e.override_id ",
                   "WHERE e.happened_at_ns >= ? AND e.happened_at_ns < ? AND (? = 0 OR e.id < ?) ",
                   query.override_id == 0 ? "" : "AND e.override_id = ? ",
                   "ORDER BY e.id DESC LIMIT ", query.most));
  if (!events.ok()) return events.status();
  events->BindAll(absl::ToUnixNanos(query.from), absl::ToUnixNanos(query.to), query.before_id,
                  query.before_id);
  if (query.override_id != 0) events->Bind(5, query.override_id);
  std::vector<Event> found;
  absl::Status status = events->Each([&] {
    found.push_back({.id = events->Int(kColumnCount),
                     .happened_at = absl::FromUnixNanos(events->Int(kColumnCount + 1)),
                     .kind = static_cast<EventKind>(events->Int(kColumnCount + 2)),
                     .override = ReadOverride(*events),
                     .actor = std::string(events->Text(kColumnCount + 3)),
                     .reason = std::string(events->Text(kColumnCount + 4)),
                     .change = std::string(events->Text(kColumnCount + 5))});
    return true;
  });
  if (!status.ok()) return status;
  return found;
}

absl::Status OverrideFile::Add(const Override& override) {
  absl::StatusOr<sqlite::Statement> insert =
      database_.Prepare("INSERT INTO overrides VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)");
  if (!insert.ok()) return insert.status();
  const bool everything = override.selector.everything;
  if (everything) {
    absl::Status status = database_.Run(absl::StrCat("PRAGMA user_version = ", kSchemaVersion));
    if (!status.ok()) return status;
  }
  insert->BindAll(override.id, static_cast<int>(override.kind),
                  everything ? kEverything : override.selector.identity, override.selector.segment,
                  override.selector.target, override.ratio, override.actor, override.reason,
                  absl::ToUnixNanos(override.created_at));
  if (override.expires_at == absl::InfiniteFuture()) {
    insert->BindNull(kColumnCount);
  } else {
    insert->Bind(kColumnCount, absl::ToUnixNanos(override.expires_at));
  }
  if (absl::Status status = insert->RunBound(); !status.ok()) return status;
  return AddEvent(override.id, {.kind = EventKind::kCreated,
                                .at = override.created_at,
                                .actor = override.actor,
                                .reason = override.reason});
}

absl::Status OverrideFile::Finish(int64_t id, const End& end) {
  absl::StatusOr<sqlite::Statement> update =
      database_.Prepare("UPDATE overrides SET ended = 1 WHERE id = ?");
  if (!update.ok()) return update.status();
  if (absl::Status status = update->Run(id); !status.ok()) return status;
  return AddEvent(id, end);
}

absl::Status OverrideFile::AddEvent(int64_t id, const End& event, const std::string& change) {
  absl::StatusOr<sqlite::Statement> insert =
      database_.Prepare("INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  absl::Status status = insert->Run(absl::ToUnixNanos(event.at), static_cast<int>(event.kind), id,
                                    event.actor, event.reason);
  if (!status.ok() || change.empty()) return status;
  absl::StatusOr<sqlite::Statement> said =
      database_.Prepare("INSERT INTO changes VALUES (last_insert_rowid(), ?)");
  return said.ok() ? said->Run(change) : said.status();
}

}  // namespace headgate::overrides
