#include "server/remember/throttle_log/sqlite_store.h"

#include <utility>

#include "server/remember/sqlite/copy.h"
#include "server/remember/throttle_log/sqlite_scan.h"

namespace headgate::throttle_log {
namespace {

constexpr std::string_view kInMemory = ":memory:";

}  // namespace

SqliteStore::SqliteStore(std::string path, const Retention& retention)
    : path_(std::move(path)), retention_(retention) {}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path,
                                                               const Retention& retention) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, retention));
  MutexLock lock(&store->writing_);
  if (absl::Status opened = store->OpenFile(); !opened.ok()) return opened;
  return store;
}

SqliteStore::Opened SqliteStore::OpenAnyway(const std::string& path, const Retention& retention,
                                            absl::Time now) {
  Opened opened;
  opened.store.reset(new SqliteStore(path, retention));
  SqliteStore& store = *opened.store;
  MutexLock lock(&store.writing_);
  opened.why = store.OpenFile();
  if (!absl::IsDataLoss(opened.why)) return opened;
  absl::StatusOr<std::string> aside = store.SetAside(now);
  if (!aside.ok()) return opened;
  opened.set_aside = *std::move(aside);
  store.OpenFile().IgnoreError();  // the state has it
  return opened;
}

absl::Status SqliteStore::OpenFile() {
  absl::StatusOr<std::unique_ptr<SqliteFile>> file = SqliteFile::Open(path_);
  if (file.ok()) {
    file_ = *std::move(file);
    Publish(absl::OkStatus());
    return absl::OkStatus();
  }
  MutexLock lock(&mutex_);
  state_.status = file.status();
  return state_.status;
}

absl::StatusOr<std::string> SqliteStore::SetAside(absl::Time now) {
  file_ = nullptr;  // gives up its lock
  {
    MutexLock lock(&mutex_);
    idle_.clear();
    ++generation_;
  }
  if (path_ == kInMemory) return std::string();
  absl::StatusOr<std::string> aside = sqlite::SetAside(path_, now);
  MutexLock lock(&mutex_);
  if (aside.ok()) state_.set_aside = *aside;
  return aside;
}

absl::Status SqliteStore::Append(absl::Span<const Row> rows, int64_t batch) {
  MutexLock lock(&writing_);
  if (last_batch_ == batch) return absl::OkStatus();
  absl::Status status = Write([&](SqliteFile& file) { return file.Add(rows); });
  if (status.ok()) last_batch_ = batch;
  return status;
}

absl::Status SqliteStore::Maintain(absl::Time now) {
  MutexLock lock(&writing_);
  if (absl::IsDataLoss(State().status)) {
    if (absl::Status aside = SetAside(now).status(); !aside.ok()) return aside;
  }
  return Write([&](SqliteFile& file) { return file.Maintain(retention_, now); });
}

absl::Status SqliteStore::Write(absl::FunctionRef<absl::Status(SqliteFile&)> change) {
  absl::Status status = State().status;
  if (file_ != nullptr && absl::IsDataLoss(status)) return status;
  if (file_ == nullptr) status = OpenFile();
  if (file_ == nullptr) return status;
  status = change(*file_);
  if (!status.ok()) file_->Forget();
  Publish(status);
  return status;
}

void SqliteStore::Publish(const absl::Status& status) {
  absl::StatusOr<StoreState> measured = file_->Measure();
  MutexLock lock(&mutex_);
  if (measured.ok()) {
    measured->set_aside = std::move(state_.set_aside);
    state_ = *std::move(measured);
  }
  state_.status = status;
}

StoreState SqliteStore::State() const {
  MutexLock lock(&mutex_);
  return state_;
}

absl::Status SqliteStore::Scan(const ScanFilter& filter,
                               absl::FunctionRef<bool(const Row&)> visit) const {
  const auto scan = [&](sqlite::Database& database) {
    absl::StatusOr<sqlite::Transaction> transaction =
        sqlite::Transaction::Begin(database, sqlite::Access::kRead);
    if (!transaction.ok()) return transaction.status();
    absl::StatusOr<SqliteScan> prepared = SqliteScan::Prepare(database, filter);
    return prepared.ok() ? prepared->Run(visit) : prepared.status();
  };
  if (path_ == kInMemory) return ScanCopy(scan);
  int64_t generation = 0;
  {
    MutexLock lock(&mutex_);
    generation = generation_;
  }
  absl::StatusOr<std::unique_ptr<sqlite::Database>> reader = TakeReader();
  if (!reader.ok()) return reader.status();
  absl::Status status = scan(**reader);
  MutexLock lock(&mutex_);
  if (generation != generation_) return status;
  if (status.ok()) idle_.push_back(*std::move(reader));
  // The writer, which has its own pages in memory, may not meet it for long.
  if (absl::IsDataLoss(status)) state_.status = status;
  return status;
}

// Whoever visits the rows may take long, such as a replay: nobody who appends waits for it.
absl::Status SqliteStore::ScanCopy(absl::FunctionRef<absl::Status(sqlite::Database&)> scan) const {
  const auto copy = [this]() -> absl::StatusOr<sqlite::Database> {
    MutexLock lock(&writing_);
    if (file_ == nullptr) return absl::UnavailableError("the throttle log is gone");
    return sqlite::CopyToMemory(file_->database());
  };
  MutexLock lock(&copying_);
  absl::StatusOr<sqlite::Database> copied = copy();
  return copied.ok() ? scan(*copied) : copied.status();
}

absl::StatusOr<std::unique_ptr<sqlite::Database>> SqliteStore::TakeReader() const {
  {
    MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<sqlite::Database> reader = std::move(idle_.back());
      idle_.pop_back();
      return reader;
    }
  }
  absl::StatusOr<sqlite::Database> opened =
      sqlite::Database::Open(path_, {.access = sqlite::Access::kRead});
  if (!opened.ok()) return opened.status();
  return std::make_unique<sqlite::Database>(*std::move(opened));
}

}  // namespace headgate::throttle_log
