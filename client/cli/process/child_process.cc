#include "client/cli/process/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/process/idle_child.h"
#include "client/cli/process/signal_relay.h"

namespace headgate::cli {
namespace {

// Without actions the child inherits all streams.
absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command,
                            const posix_spawn_file_actions_t* actions,
                            Session session = Session::kInherited) {
  // Where it is ignored, as some supervisors leave it, the kernel reaps children and their statuses
  // are lost. The child, too, begins with the default: POSIX promises it nothing else.
  std::signal(SIGCHLD, SIG_DFL);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  // exec never writes to its arguments; its type is older than const.
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (session == Session::kOwn) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return child;
  const std::string what =
      absl::StrCat("cannot run '", command[0], "': ", std::generic_category().message(error));
  return error == ENOENT ? absl::NotFoundError(what) : absl::PermissionDeniedError(what);
}

// Reaps the child. The error is Internal where somebody else has reaped it.
absl::StatusOr<int> ExitStatusOfChild(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return absl::InternalError(absl::StrCat("how the command ended is not known: ",
                                            std::generic_category().message(errno)));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void WaitWithoutReaping(pid_t child) {
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
}

// How the child of this relay ends.
absl::StatusOr<int> StatusOfAttended(pid_t child, SignalRelay& relay) {
  WaitWithoutReaping(child);
  relay.Stop();
  return ExitStatusOfChild(child);
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(bytes));
  }
}

}  // namespace

absl::StatusOr<int> RunInForeground(const std::vector<std::string>& command) {
  SignalRelay relay;
  const absl::StatusOr<pid_t> child = Spawn(command, nullptr);
  if (!child.ok()) return child.status();
  relay.PassOnTo(*child);
  return StatusOfAttended(*child, relay);
}

absl::StatusOr<int> RunInForegroundIdle(const std::vector<std::string>& command,
                                        absl::FunctionRef<void(const std::string&)> say) {
  SignalRelay relay;
  const absl::StatusOr<IdleChild> child = StartIdle([&](Session session) {
    absl::StatusOr<pid_t> spawned = Spawn(command, nullptr, session);
    if (spawned.ok()) relay.PassOnTo(*spawned);
    return spawned;
  });
  if (!child.ok()) return child.status();
  say(child->said);
  return StatusOfAttended(child->pid, relay);
}

absl::StatusOr<Captured> RunAndCapture(const std::vector<std::string>& command) {
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("no pipe: ", std::generic_category().message(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  const absl::StatusOr<pid_t> child = Spawn(command, &actions);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  Captured captured;
  if (child.ok()) captured.output = ReadAll(pipe_ends[0]);
  close(pipe_ends[0]);
  if (!child.ok()) return child.status();
  const absl::StatusOr<int> status = ExitStatusOfChild(*child);
  if (!status.ok()) return status.status();
  captured.status = *status;
  return captured;
}

}  // namespace headgate::cli
