#include "tests/load/pgbench.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace headgate::load {
namespace {

absl::Status WriteScript(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::InternalError(absl::StrCat("cannot write ", path));
}

std::vector<std::string> Arguments(const PgbenchOptions& options, const std::string& prefix) {
  std::vector<std::string> argv = {options.bin + "/pgbench",
                                   "--no-vacuum",
                                   "--log",
                                   "--log-prefix=" + prefix,
                                   absl::StrCat("--client=", options.clients),
                                   "--jobs=1",  // and one log
                                   absl::StrCat("--random-seed=", options.seed)};
  if (options.script.empty()) {
    argv.push_back("--builtin=" + options.builtin);
  } else {
    argv.push_back("--file=" + prefix + ".sql");
    if (options.scale > 0) argv.push_back(absl::StrCat("--scale=", options.scale));
  }
  if (options.rate_per_second) argv.push_back(absl::StrCat("--rate=", *options.rate_per_second));
  constexpr absl::Duration kLongest = absl::Hours(24);
  argv.push_back(absl::StrCat(
      "--time=",
      absl::ToInt64Seconds(absl::Ceil(std::min(options.duration, kLongest), absl::Seconds(1)))));
  argv.push_back(options.dsn);
  return argv;
}

}  // namespace

std::vector<std::string> PgbenchInitialization(const PgbenchOptions& options, int scale) {
  return {options.bin + "/pgbench", "--initialize", "--quiet", absl::StrCat("--scale=", scale),
          options.dsn};
}

absl::Status RunToEnd(const std::vector<std::string>& argv, const std::string& output,
                      absl::Duration limit) {
  Subprocess process(argv, {.log = output});
  if (process.HasEnded(limit)) return process.Outcome();
  return absl::DeadlineExceededError(absl::StrCat(argv[0], " takes too long"));
}

absl::StatusOr<std::unique_ptr<Pgbench>> Pgbench::Start(const PgbenchOptions& options) {
  static int runs = 0;  // each has its own files
  const std::string prefix = absl::StrCat(options.folder, "/pgbench-", ++runs);
  if (!options.script.empty()) {
    absl::Status status = WriteScript(prefix + ".sql", options.script);
    if (!status.ok()) return status;
  }
  return std::unique_ptr<Pgbench>(
      new Pgbench(Arguments(options, prefix), prefix, options.duration));
}

void Pgbench::ReadLog() {
  if (!log_.is_open()) log_.open(log_path_);
  if (!log_.is_open()) return;  // pgbench has not connected yet
  log_.clear();                 // of the end that was reached before
  char portion[1 << 16];
  while (log_.read(portion, sizeof(portion)), log_.gcount() > 0) {
    unfinished_.append(portion, static_cast<size_t>(log_.gcount()));
    std::string_view rest = unfinished_;
    for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      transactions_.AddLine(rest.substr(0, end));
    }
    unfinished_ = std::string(rest);
  }
}

absl::Status Pgbench::Poll() {
  const bool ended = process_.HasEnded();
  ReadLog();
  return ended ? process_.Outcome() : absl::OkStatus();
}

absl::Status Pgbench::WaitForEnd() {
  if (!process_.HasEnded(duration_ + absl::Seconds(60))) {
    return absl::DeadlineExceededError("pgbench does not end");
  }
  return Poll();
}

absl::Status Pgbench::Stop() {
  absl::Status status = process_.Stop();
  ReadLog();
  return status;
}

}  // namespace headgate::load
