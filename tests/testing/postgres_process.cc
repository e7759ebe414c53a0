#include "tests/testing/postgres_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/strings.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

// A server that was stopped by SIGSTOP is ended too. postmaster.pid may be left over from a crash,
// and its number in use by another program by now: hence the look at the command line.
constexpr char kCleanupScript[] = R"sh(
exec >/dev/null 2>&1
cat
for file in "$0"/*/postmaster.pid; do
  pid=$(head -n 1 "$file") || continue
  grep -q -a -F "$0" "/proc/$pid/cmdline" || continue
  kill -STOP "$pid"
  kill -KILL $(grep -l "^PPid:[[:space:]]*$pid\$" /proc/[0-9]*/status | cut -d/ -f3) "$pid"
done
rm -rf "$0"
)sh";

std::vector<char*> PointersTo(const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, between fork and exec: only what is safe after the fork of a program with threads.
[[noreturn]] void ExecAs(const Account& account, char* const* argv, int log) {
  setsid();
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool changed = geteuid() != 0 || (setgroups(1, &account.gid) == 0 &&
                                          setgid(account.gid) == 0 && setuid(account.uid) == 0);
  if (changed && chdir("/") == 0) execv(argv[0], argv);
  _exit(127);
}

}  // namespace

absl::StatusOr<Account> PostgresAccount() {
  if (geteuid() != 0) return Account{.uid = geteuid(), .gid = getegid()};
  const passwd* entry = getpwnam("postgres");
  if (entry == nullptr) {
    return absl::NotFoundError("PostgreSQL refuses root, and there is no user \"postgres\"");
  }
  return Account{.uid = entry->pw_uid, .gid = entry->pw_gid};
}

absl::StatusOr<pid_t> StartProgram(const std::vector<std::string>& argv, const Account& account,
                                   const std::string& log) {
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", log));
  const std::vector<char*> arguments = PointersTo(argv);
  const pid_t pid = fork();
  if (pid == 0) ExecAs(account, arguments.data(), log_fd);
  const int error = errno;
  close(log_fd);
  if (pid < 0) return absl::ErrnoToStatus(error, "fork");
  return pid;
}

absl::Status RunProgram(const std::vector<std::string>& argv, const Account& account,
                        const std::string& log, absl::Duration limit) {
  absl::StatusOr<pid_t> pid = StartProgram(argv, account, log);
  if (!pid.ok()) return pid.status();
  int status = 0;
  pid_t ended = 0;
  WaitUntil([&] { return (ended = waitpid(*pid, &status, WNOHANG)) != 0; }, limit);
  if (ended == 0) {
    kill(*pid, SIGKILL);
    waitpid(*pid, &status, 0);
    return absl::DeadlineExceededError(
        absl::StrCat(argv[0], " did not end within ", absl::FormatDuration(limit)));
  }
  if (status == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(argv[0], " failed:\n", TailOf(log)));
}

bool HasEnded(pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; }

namespace {

// What follows the name in "pid (name) state ppid ...", and the name may hold anything; nothing:
// there is no such process.
std::vector<std::string> StatOf(std::string_view pid) {
  std::ifstream file(absl::StrCat("/proc/", Sv(pid), "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  return absl::StrSplit(line.substr(name_end + 1), ' ');
}

}  // namespace

bool IsRunning(pid_t pid) {
  const std::vector<std::string> stat = StatOf(std::to_string(pid));
  return stat.size() > 1 && stat[1] != "Z" && stat[1] != "X";
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  DIR* folder = opendir("/proc");
  while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    const std::vector<std::string> fields = StatOf(entry->d_name);
    if (fields.size() > 2 && fields[2] == absl::StrCat(parent)) children.push_back(pid);
  }
  if (folder != nullptr) closedir(folder);
  return children;
}

std::string TailOf(const std::string& file) {
  std::ifstream stream(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
    if (lines.size() > 20) lines.pop_front();
  }
  return absl::StrJoin(lines, "\n");
}

FolderCleanup::FolderCleanup(const std::string& folder) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const std::vector<std::string> argv = {"/bin/sh", "-c", kCleanupScript, folder};
  const std::vector<char*> arguments = PointersTo(argv);
  cleanup_ = fork();
  if (cleanup_ == 0) {
    setsid();
    dup2(ends[0], STDIN_FILENO);
    close_range(3, ~0U, 0);
    if (chdir("/") == 0) execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[0]);
  pipe_ = ends[1];
}

FolderCleanup::~FolderCleanup() {
  if (pipe_ >= 0) close(pipe_);
  if (cleanup_ > 0) waitpid(cleanup_, nullptr, 0);
}

}  // namespace headgate
