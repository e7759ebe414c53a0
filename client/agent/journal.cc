#include "client/agent/journal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/scheduling/kernel_file.h"
#include "common/strings.h"

namespace headgate::agent {
namespace {

constexpr char kAdded[] = "+";
constexpr char kRemoved[] = "-";
constexpr size_t kMostLines = 4096;
constexpr size_t kTorn = std::numeric_limits<size_t>::max() / 2;

// Process numbers mean nothing after another start of the machine, or in another namespace.
std::string LifeOfMachine() {
  std::string boot =
      scheduling::ReadSmallFile("/proc/sys/kernel/random/boot_id").value_or("unknown");
  boot.resize(boot.find_last_not_of('\n') + 1);
  std::array<char, 64> space = {};
  const ssize_t length = readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  return absl::StrCat("headgate-agent 1 ", boot, " ", length > 0 ? space.data() : "unknown", "\n");
}

absl::Status WithErrno(const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(what, ": ", std::strerror(errno)));
}

std::string LineOf(const Record& record) {
  return absl::StrCat(
      absl::StrJoin(
          {std::string(kAdded), absl::StrCat(record.pid), absl::StrCat(record.started_ticks),
           absl::StrCat(static_cast<int>(record.means.kind)), absl::StrCat(record.before.policy),
           absl::StrCat(record.before.io_priority), absl::StrCat(record.before.autogroup_nice),
           record.before.group, record.means.group},
          "\t"),
      "\n");
}

std::string LineOfEnd(int pid, uint64_t started_ticks) {
  return absl::StrCat(kRemoved, "\t", pid, "\t", started_ticks, "\n");
}

std::optional<Record> RecordOf(const std::vector<absl::string_view>& fields) {
  constexpr int kLastKind = static_cast<int>(Means::Kind::kAutogroup);
  Record record;
  int kind = 0;
  if (fields.size() < 3 || !absl::SimpleAtoi(fields[1], &record.pid) ||
      !absl::SimpleAtoi(fields[2], &record.started_ticks)) {
    return std::nullopt;
  }
  if (fields[0] == kRemoved) return record;
  if (fields[0] != kAdded || fields.size() != 9 || !absl::SimpleAtoi(fields[3], &kind) ||
      kind < 0 || kind > kLastKind || !absl::SimpleAtoi(fields[4], &record.before.policy) ||
      !absl::SimpleAtoi(fields[5], &record.before.io_priority) ||
      !absl::SimpleAtoi(fields[6], &record.before.autogroup_nice)) {
    return std::nullopt;
  }
  record.means.kind = static_cast<Means::Kind>(kind);
  record.before.group = std::string(fields[7]);
  record.means.group = std::string(fields[8]);
  return record;
}

}  // namespace

Journal::Journal(std::string folder, FileDescriptor lock)
    : folder_(std::move(folder)), life_(LifeOfMachine()), lock_(std::move(lock)) {}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& folder,
                                                       absl::Duration limit) {
  constexpr int kPauseMs = 20;
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return WithErrno(absl::StrCat("cannot make the folder ", folder));
  }
  const std::string path = absl::StrCat(folder, "/lock");
  FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.ok()) return WithErrno(absl::StrCat("cannot write ", path));
  int64_t left_ms = absl::ToInt64Milliseconds(limit);
  while (flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return WithErrno(absl::StrCat("cannot lock ", path));
    if (left_ms <= 0) {
      return absl::FailedPreconditionError(absl::StrCat("another agent uses the folder ", folder));
    }
    poll(nullptr, 0, kPauseMs);
    left_ms -= kPauseMs;
  }
  std::unique_ptr<Journal> journal(new Journal(folder, std::move(lock)));
  if (absl::Status status = journal->ReadAgain(); !status.ok()) return status;
  return journal;
}

absl::Status Journal::ReadAgain() {
  Read();
  return Rewrite();
}

void Journal::Read() {
  records_.clear();
  const std::string text = scheduling::ReadSmallFile(File()).value_or("");
  if (!text.starts_with(life_)) return;
  std::vector<absl::string_view> lines = absl::StrSplit(Sv(text).substr(life_.size()), '\n');
  lines.pop_back();  // what follows the last end of a line
  for (const absl::string_view line : lines) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    const std::optional<Record> record = RecordOf(fields);
    if (!record.has_value()) continue;
    const Key key(record->pid, record->started_ticks);
    if (fields[0] == kRemoved) {
      records_.erase(key);
    } else {
      records_[key] = *record;
    }
  }
}

std::vector<Record> Journal::Records() const {
  std::vector<Record> records;
  records.reserve(records_.size());
  for (const auto& [key, record] : records_) records.push_back(record);
  return records;
}

absl::Status Journal::Add(const Record& record) {
  if (absl::Status status = Append(LineOf(record)); !status.ok()) return status;
  records_[{record.pid, record.started_ticks}] = record;
  return absl::OkStatus();
}

absl::Status Journal::Remove(int pid, uint64_t started_ticks) {
  if (records_.erase({pid, started_ticks}) == 0) return absl::OkStatus();
  return Append(LineOfEnd(pid, started_ticks));
}

absl::Status Journal::Append(std::string_view line) {
  if (lines_ >= kMostLines + 2 * records_.size()) {
    if (absl::Status status = Rewrite(); !status.ok()) return status;
  }
  ++lines_;
  if (write(file_.number(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    return absl::OkStatus();
  }
  absl::Status status = WithErrno(absl::StrCat("cannot write ", File()));
  lines_ = kTorn;  // what is written next must not stand behind half a line
  return status;
}

absl::Status Journal::Rewrite() {
  const std::string fresh = absl::StrCat(File(), ".new");
  FileDescriptor file(
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.ok()) return WithErrno(absl::StrCat("cannot write ", fresh));
  std::string text = life_;
  for (const auto& [key, record] : records_) text += LineOf(record);
  if (write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      rename(fresh.c_str(), File().c_str()) != 0) {
    return WithErrno(absl::StrCat("cannot write ", File()));
  }
  file_ = std::move(file);
  lines_ = 0;
  return absl::OkStatus();
}

}  // namespace headgate::agent
