#include "client/agent/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/agent/linux_processes.h"
#include "client/agent/restore.h"

namespace headgate::agent {
namespace {

constexpr int kTries = 600;
constexpr int kPauseMs = 100;

void CloseRange(int first, int last) {
  constexpr int kMostFiles = 65536;
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  for (int fd = first; fd <= std::min(last, kMostFiles); ++fd) close(fd);
}

// The agent's other files, such as its connection to PostgreSQL, must not outlive it.
void CloseAllBut(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  int first = STDERR_FILENO + 1;
  for (const int fd : kept) {
    CloseRange(first, fd - 1);
    first = std::max(first, fd + 1);
  }
  CloseRange(first, std::numeric_limits<int>::max());
}

void WaitForEnd(int pipe) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(pipe, &byte, 1);
  } while (got > 0 || (got < 0 && errno == EINTR));
}

[[noreturn]] void Watch(Journal& journal, int pipe,
                        absl::FunctionRef<void(const std::string&)> log) {
  setsid();
  prctl(PR_SET_NAME, "headgate-watch");
  // Blocked signals stay so, which are the agent's business.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  CloseAllBut({journal.files()[0], journal.files()[1], pipe});
  WaitForEnd(pipe);
  journal.ReadAgain().IgnoreError();  // what can't be written is known all the same
  if (journal.Records().empty()) _exit(0);
  log("the agent is gone, and has left sessions that yield: its watchdog restores them");
  LinuxProcesses processes;
  Restored all;
  for (int i = 0; i < kTries; ++i) {
    const Restored some = Restore(journal, processes);
    all.raised += some.raised;
    all.gone += some.gone;
    all.left = some.left;
    if (!absl::IsUnavailable(some.left)) break;
    poll(nullptr, 0, kPauseMs);
  }
  log(absl::StrCat("the watchdog has restored ", all.raised, ", and ", all.gone, " had ended",
                   all.left.ok() ? "" : "; not all: ", all.left.ok() ? "" : all.left.message()));
  _exit(all.left.ok() ? 0 : 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Watchdog>> Watchdog::Start(
    Journal& journal, absl::FunctionRef<void(const std::string&)> log) {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  FileDescriptor reads(ends[0]), writes(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    writes.Close();
    Watch(journal, reads.number(), log);
  }
  return std::unique_ptr<Watchdog>(new Watchdog(pid, std::move(writes)));
}

Watchdog::~Watchdog() {
  pipe_.Close();
  constexpr int kWaits = 10;
  for (int i = 0; i < kWaits && IsAlive(); ++i) poll(nullptr, 0, kPauseMs / kWaits);
}

bool Watchdog::IsAlive() {
  if (pid_ == 0) return false;
  const pid_t ended = waitpid(pid_, nullptr, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return true;
  pid_ = 0;
  return false;
}

}  // namespace headgate::agent
