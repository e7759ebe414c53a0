// Journal: which processes are lowered now and what they had before, in a file that outlives the
// agent, however that ends.
//
// A process is written down before it is lowered, and crossed out once it is as it was. What was
// written in another life of the machine, or in another namespace of processes, names other
// processes: it is forgotten when the file is opened.
//
// Whoever has it open holds the folder's lock, and so does every child that is forked meanwhile:
// there is one agent for each folder, and the next one begins when nobody restores any more.
//
// The file is lines of fields between tabs, each written in one piece; a line without its end was
// cut off, before anything was done.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open("/run/headgate-agent", limit);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/agent/processes.h"
#include "common/file_descriptor.h"

namespace headgate::agent {

struct Record {
  int pid = 0;
  uint64_t started_ticks = 0;
  Means means = {};
  Before before = {};

  friend bool operator==(const Record&, const Record&) = default;
};

class Journal {
 public:
  // The folder is made where it is missing. Waits so long for whoever has the lock. Errors:
  // FailedPrecondition (somebody has it, or the folder can't be written).
  static absl::StatusOr<std::unique_ptr<Journal>> Open(const std::string& folder,
                                                       absl::Duration limit);

  // What is written down and not crossed out.
  std::vector<Record> Records() const;
  absl::Status Add(const Record& record);
  absl::Status Remove(int pid, uint64_t started_ticks);

  // Its open files, for a child that closes all others.
  std::array<int, 2> files() const { return {lock_.number(), file_.number()}; }

  // Takes the file as it is now, for a child that was forked when it was another.
  absl::Status ReadAgain();

 private:
  using Key = std::pair<int, uint64_t>;

  Journal(std::string folder, FileDescriptor lock);
  std::string File() const { return folder_ + "/lowered"; }
  void Read();
  absl::Status Append(std::string_view line);
  // Without what was crossed out.
  absl::Status Rewrite();

  const std::string folder_;
  const std::string life_;  // the file's first line
  const FileDescriptor lock_;
  FileDescriptor file_;
  size_t lines_ = 0;  // since it was rewritten
  std::map<Key, Record> records_;
};

}  // namespace headgate::agent
