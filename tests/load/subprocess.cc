#include "tests/load/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/testing/postgres_process.h"
#include "tests/testing/wait_until.h"

namespace headgate::load {
namespace {

// In the child, between fork and exec: only what is safe after the fork of a program with threads.
[[noreturn]] void Exec(char* const* argv, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the kernel was told
  setsid();
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(argv[0], argv);
  const char* error = strerror(errno);
  if (write(STDERR_FILENO, error, strlen(error)) < 0) _exit(126);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Subprocess>> Subprocess::Start(const std::vector<std::string>& argv,
                                                              const std::string& output) {
  const int fd = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("opening ", output));
  std::vector<char*> arguments;
  for (const std::string& text : argv) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Exec(arguments.data(), fd, parent);
  const int error = errno;
  close(fd);
  if (pid < 0) return absl::ErrnoToStatus(error, "fork");
  return std::unique_ptr<Subprocess>(new Subprocess(pid, argv[0], output));
}

Subprocess::~Subprocess() {
  if (HasEnded()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Subprocess::HasEnded(absl::Duration limit) {
  const auto ended = [this] { return ended_ || waitpid(pid_, &status_, WNOHANG) != 0; };
  ended_ = WaitUntil(ended, limit);
  return ended_;
}

absl::Status Subprocess::Outcome() const {
  if (!ended_) return absl::FailedPreconditionError(absl::StrCat(name_, " is running"));
  if (status_ == 0) return absl::OkStatus();
  const std::string how = WIFSIGNALED(status_) ? absl::StrCat("signal ", WTERMSIG(status_))
                                               : absl::StrCat("exit status ", WEXITSTATUS(status_));
  return absl::InternalError(absl::StrCat(name_, " ended with ", how, ":\n", TailOf(output_)));
}

absl::Status Subprocess::Stop(absl::Duration grace) {
  if (HasEnded()) return Outcome();
  kill(pid_, SIGTERM);
  if (!HasEnded(grace)) {
    kill(pid_, SIGKILL);
    HasEnded(absl::InfiniteDuration());
    return absl::DeadlineExceededError(absl::StrCat(name_, " had to be killed"));
  }
  const bool by_our_signal = WIFSIGNALED(status_) && WTERMSIG(status_) == SIGTERM;
  return by_our_signal ? absl::OkStatus() : Outcome();
}

}  // namespace headgate::load
