#include "server/remember/throttle_log/sqlite_scan.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::throttle_log {
namespace {

// Looking one identity up takes about as long as reading so many rows of others.
constexpr int64_t kRowsForLookup = 16;

// The end of the time that is summed up to one step with this one.
int64_t EndOf(const ScanFilter& filter, int64_t step_s) {
  if (filter.sum_over_s <= 0) return step_s + 1;
  if (filter.sum_over_s > filter.to_s - filter.from_s) return filter.to_s;
  return step_s + filter.sum_over_s;
}

}  // namespace

absl::StatusOr<SqliteScan> SqliteScan::Prepare(sqlite::Database& database, ScanFilter filter) {
  filter.from_s = std::max<int64_t>(filter.from_s, 0);
  SqliteScan scan(std::move(filter));
  absl::Status status = scan.ReadWhos(database);
  if (status.ok()) status = scan.ReadWhats(database);
  if (!status.ok()) return status;
  for (const TableSpec& spec : {kCoarse, kFine}) {
    absl::StatusOr<Source> source = Open(database, spec);
    if (!source.ok()) return source.status();
    scan.sources_.push_back(*std::move(source));
  }
  return scan;
}

absl::StatusOr<SqliteScan::Source> SqliteScan::Open(sqlite::Database& database,
                                                    const TableSpec& spec) {
  Source source;
  source.spec = spec;
  const auto name = Sv(spec.name);
  const std::string columns = absl::StrCat("SELECT ", Sv(kColumns), " FROM ", name);
  absl::Status status =
      database.PrepareAll({{&source.next, absl::StrCat("SELECT block FROM ", name,
                                                       " WHERE block >= ? ORDER BY block LIMIT 1")},
                           {&source.whole, columns + " WHERE block = ?"},
                           {&source.one, columns + " WHERE block = ? AND who = ?"}});
  if (!status.ok()) return status;
  return source;
}

// The coarse table first: a block of it reaches over many of the fine one, which are emitted as
// they are read.
absl::Status SqliteScan::Run(absl::FunctionRef<bool(const Row&)> visit) {
  if (whos_.empty() || whats_.empty() || filter_.from_s >= filter_.to_s) return absl::OkStatus();
  for (Source& source : sources_) {
    absl::Status status = Seek(source, filter_.from_s / source.spec.block_s);
    if (!status.ok()) return status;
  }
  const auto begin_of = [](const Source& source) {
    return source.block == kForever ? kForever : source.block * source.spec.block_s;
  };
  for (;;) {
    Source& source = begin_of(sources_[0]) <= begin_of(sources_[1]) ? sources_[0] : sources_[1];
    const int64_t begin_s = begin_of(source);
    const bool at_end = begin_s >= filter_.to_s;
    if (!Emit(at_end ? kForever : begin_s, visit) || at_end) return absl::OkStatus();
    absl::Status status = ReadBlock(source);
    if (status.ok()) status = Seek(source, source.block + 1);
    if (!status.ok()) return status;
  }
}

absl::Status SqliteScan::Seek(Source& source, int64_t block) {
  source.block = kForever;
  source.next.BindAll(block);
  return source.next.Each([&] {
    source.block = source.next.Int(0);
    return true;
  });
}

bool SqliteScan::ReadsWholeBlocks() const {
  return static_cast<int64_t>(whos_.size()) * kRowsForLookup > all_whos_;
}

absl::Status SqliteScan::ReadBlock(Source& source) {
  const auto take = [this, &source](const sqlite::Statement& row) {
    Take(source.spec, row);
    return true;
  };
  if (ReadsWholeBlocks()) {
    source.whole.BindAll(source.block);
    return source.whole.Each([&] { return take(source.whole); });
  }
  for (const auto& [id, place] : who_places_) {
    source.one.BindAll(source.block, id);
    absl::Status status = source.one.Each([&] { return take(source.one); });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void SqliteScan::Take(const TableSpec& spec, const sqlite::Statement& row) {
  const Place place = PlaceIn(row);
  const auto who = who_places_.find(place.who);
  const auto what = what_places_.find(place.what);
  if (who == who_places_.end() || what == what_places_.end()) return;
  const int64_t step_s = StepSecondsOf(spec, place, what->second.length_s);
  if (step_s < filter_.from_s || step_s >= filter_.to_s) return;
  const Key key = KeyOf(step_s, who->second, what->second);
  oldest_open_s_ = std::min(oldest_open_s_, key.step_s);
  open_[key].Add(CountsIn(row));
}

SqliteScan::Key SqliteScan::KeyOf(int64_t step_s, int32_t who, const KnownWhat& what) const {
  Key key = {.step_s = step_s, .who = who, .length_s = what.length_s, .what = what.place};
  const int64_t sum_s = filter_.sum_over_s;
  if (sum_s <= 0) return key;
  const int64_t all_s = filter_.to_s - filter_.from_s;
  key.step_s = sum_s > all_s ? filter_.from_s : step_s / sum_s * sum_s;
  key.length_s = static_cast<int32_t>(
      std::min<int64_t>(std::min(sum_s, all_s), std::numeric_limits<int32_t>::max()));
  return key;
}

bool SqliteScan::Emit(int64_t before_s, absl::FunctionRef<bool(const Row&)> visit) {
  if (open_.empty() || EndOf(filter_, oldest_open_s_) > before_s) return true;
  std::vector<std::pair<Key, Counts>> complete;
  oldest_open_s_ = kForever;
  for (const auto& [key, counts] : open_) {
    if (EndOf(filter_, key.step_s) <= before_s) {
      complete.emplace_back(key, counts);
    } else {
      oldest_open_s_ = std::min(oldest_open_s_, key.step_s);
    }
  }
  std::sort(complete.begin(), complete.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, counts] : complete) {
    open_.erase(key);
    if (!visit(RowOf(key, counts))) return false;
  }
  return true;
}

Row SqliteScan::RowOf(const Key& key, const Counts& counts) const {
  const Who& who = whos_[static_cast<size_t>(key.who)];
  const What& what = whats_[static_cast<size_t>(key.what)];
  return {.step_s = key.step_s,
          .length_s = key.length_s,
          .key = {.target = who.target,
                  .identity = who.identity,
                  .folded = who.folded,
                  .server = who.server,
                  .outcome = what.outcome,
                  .cause = what.cause},
          .counts = counts};
}

}  // namespace headgate::throttle_log
