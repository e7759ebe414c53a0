#include "server/observe/postgres/signal_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/observe/health/signal_catalog.h"

namespace headgate::postgres {
namespace {

// A standby that streams is at the latest WAL but for what is under way.
constexpr double kCloseBytes = 16 << 20;

using Cell = std::optional<std::string>;

// The counter window of our own failed statements, beside those of columns.
constexpr size_t kOwnColumn = 1000;

absl::StatusOr<double> NumberIn(const Cell& cell) {
  if (!cell.has_value()) return absl::NotFoundError("the query returned NULL");
  double number = 0;
  if (!absl::SimpleAtod(*cell, &number) || !std::isfinite(number)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the query returned \"", cell->substr(0, 40), "\", which is no number"));
  }
  return number;
}

absl::StatusOr<double> NumberAt(const Table& table, size_t column) {
  if (table.empty() || column >= table[0].size()) {
    return absl::InternalError("the query returned too little");
  }
  return NumberIn(table[0][column]);
}

std::optional<double> Optional(const absl::StatusOr<double>& number) {
  return number.ok() ? std::optional<double>(*number) : std::nullopt;
}

health::Reading ReadingOf(std::string instance, const absl::StatusOr<double>& value) {
  health::Reading reading{.instance = std::move(instance), .value = Optional(value), .error = {}};
  if (!value.ok()) reading.error = std::string(value.status().message());
  return reading;
}

}  // namespace

absl::StatusOr<double> OneNumber(const Table& table) {
  if (table.empty()) return absl::NotFoundError("the query returned no row");
  if (table.size() > 1) return absl::FailedPreconditionError("the query returned several rows");
  if (table[0].size() != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("the query returned ", table[0].size(), " columns"));
  }
  return NumberIn(table[0][0]);
}

void SignalReader::BeginPoll(double now, const std::string& started_at, int64_t asked_ns) {
  if (started_at != started_at_ || now < now_) {
    windows_.clear();
    wal_.Clear();
    standby_lag_.Clear();
  }
  started_at_ = started_at;
  now_ = now;
  asked_ns_ = asked_ns;
}

std::string SignalReader::InstanceOf(const std::string& signal) const {
  return standby_.has_value() ? health::InstanceName(signal, *standby_) : signal;
}

void SignalReader::Read(const health::SignalQuery& query, const absl::StatusOr<Table>& table,
                        std::vector<health::Reading>& readings) {
  const SignalSource* source = query.sql.empty() ? FindSource(query.signal) : nullptr;
  if (!table.ok()) {
    for (const health::StandbySpec& standby : query.of) {
      readings.push_back(
          ReadingOf(health::InstanceName(query.signal, standby.name), table.status()));
    }
    if (query.of.empty()) readings.push_back(ReadingOf(InstanceOf(query.signal), table.status()));
    return;
  }
  std::optional<Value> value;
  if (source == nullptr) {
    value = OneNumber(*table);
  } else if (source->query == Query::kReplication) {
    return ReadStandbys(query, *source, *table, readings);
  } else if (source->kind == SignalSource::Kind::kStandbySeconds && standby_.has_value()) {
    value = StandbySeconds(*table);
  } else if (source->kind == SignalSource::Kind::kStandbySeconds) {
    value = NumberAt(*table, kWalWritten);  // what the standbys are compared with
  } else if (source->kind == SignalSource::Kind::kValue) {
    value = NumberAt(*table, source->column);
  } else {
    value = Growth(*source, *table);
  }
  if (value.has_value()) readings.push_back(ReadingOf(InstanceOf(query.signal), *value));
}

CounterWindow& SignalReader::Count(const SignalSource& source, size_t column, double counter) {
  const auto [window, added] = windows_.try_emplace({source.signal, column}, source.window);
  window->second.Add(now_, counter);
  return window->second;
}

std::optional<SignalReader::Value> SignalReader::Growth(const SignalSource& source,
                                                        const Table& table) {
  const Value counter = NumberAt(table, source.column);
  if (!counter.ok()) return counter;
  const CounterWindow& window = Count(source, source.column, *counter);
  double growth = window.growth();
  if (source.kind == SignalSource::Kind::kShareOfGrowth) {
    const Value other = NumberAt(table, source.column + 1);
    if (!other.ok()) return other;
    const double others = Count(source, source.column + 1, *other).growth();
    if (window.seconds() <= 0) return std::nullopt;
    // One checkpoint is no trend.
    return growth / std::max(growth + others, 2.0);
  }
  if (source.signal == "rollbacks_per_second") {
    // The server's count may be a second late, and smaller than what is known to be ours.
    growth = std::max(0.0, growth - Count(source, kOwnColumn, own_rollbacks_).growth());
  }
  if (window.seconds() <= 0) return std::nullopt;
  return growth / window.seconds();
}

void SignalReader::ReadStandbys(const health::SignalQuery& query, const SignalSource& source,
                                const Table& table, std::vector<health::Reading>& readings) {
  if (const Value written = NumberAt(table, kReplicationWritten); written.ok()) {
    wal_.Add(now_, *written);
  }
  const std::vector<StandbyRows> rows = RowsOfStandbys(query.of, table, now_);
  for (size_t i = 0; i < query.of.size(); ++i) {
    health::Reading& reading = readings.emplace_back(ReadingOf(
        health::InstanceName(query.signal, query.of[i].name), ReplayOf(rows[i], source.kind)));
    reading.note = rows[i].note;
    reading.is_absent = !reading.value.has_value();
  }
}

SignalReader::Value SignalReader::ReplayOf(const StandbyRows& its, SignalSource::Kind kind) const {
  std::string state = its.missing;
  std::optional<Value> worst;
  for (const std::vector<Cell>* row : its.rows) {
    const Value written = NumberIn((*row)[kReplicationWritten]);
    const Value replayed = NumberIn((*row)[kReplicationReplayed]);
    if ((*row)[kReplicationState] != "streaming" || !written.ok() || !replayed.ok()) {
      state = (*row)[kReplicationState].value_or("");
      if (state == "streaming") state = "it has replayed nothing yet";
      continue;
    }
    Value value =
        kind == SignalSource::Kind::kReplayedBytes
            ? std::max(0.0, *written - *replayed)
            : ReplaySeconds(*written, *replayed, Optional(NumberIn((*row)[kReplicationLag])));
    if (!value.ok()) return value;
    if (!worst.has_value() || **worst < *value) worst = value;
  }
  if (worst.has_value()) return *worst;
  return absl::UnavailableError(
      absl::StrCat("standby '", its.name, "' is not streaming (", state, ")"));
}

SignalReader::Value SignalReader::ReplaySeconds(double written, double replayed,
                                                std::optional<double> lag) const {
  if (replayed >= written) return 0.0;
  const WalTimeline::Age age = wal_.AgeBehind(replayed, now_);
  if (lag.has_value()) return std::min(std::max(*lag, age.at_least), age.at_most);
  if (std::isfinite(age.at_most) || written - replayed <= kCloseBytes) return age.at_least;
  return absl::UnavailableError("how long it will take to catch up is not known yet");
}

std::optional<SignalReader::Value> SignalReader::StandbySeconds(const Table& table) {
  if (table.empty() || table[0].size() <= kStandbyTimeline) {
    return absl::InternalError("the query returned too little");
  }
  const std::vector<Cell>& row = table[0];
  const Value replayed = NumberIn(row[kStandbyReplayed]);
  if (!replayed.ok()) return absl::UnavailableError("it has replayed nothing yet");
  return standby_lag_.Read({.is_fed = row[kStandbyStreaming] == "t",
                            .has_replayed = row[kStandbyCaughtUp] == "t",
                            .age = Optional(NumberIn(row[kStandbyLag])),
                            .replayed = {.bytes = *replayed,
                                         .system = system_,
                                         .timeline = row[kStandbyTimeline].value_or("")}},
                           asked_ns_);
}

}  // namespace headgate::postgres
