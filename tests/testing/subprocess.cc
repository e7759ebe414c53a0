#include "tests/testing/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::perror(what.c_str());
  std::abort();
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> values = {{"TZ", "UTC"}, {"TERM", "xterm"}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (absl::StartsWith(name, "HEADGATE_") || name == "NO_COLOR" || name == "GRPC_VERBOSITY") {
      continue;
    }
    values.try_emplace(name, text.substr(name.size() + 1));
  }
  for (const auto& [name, value] : changes) values[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : values) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string Content(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t bytes =
        pread(file, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(bytes));
  }
}

std::string LastLines(const std::string& text) {
  size_t begin = text.size();
  for (int line = 0; line < 20 && begin != 0 && begin != text.npos; ++line) {
    begin = text.rfind('\n', begin - 1);
  }
  return begin == text.npos ? text : text.substr(std::min(begin + 1, text.size()));
}

bool HasLine(std::string_view all, std::string_view text) {
  const size_t at = all.find(text);
  return at != all.npos && all.find('\n', at) != all.npos;
}

struct Child {
  char* const* arguments;
  char* const* environment;
  const char* terminal;  // null: none
  int out;
  int err;
  int ignored;
  pid_t parent;
};

// Between fork and exec: only what is safe after the fork of a program with threads.
[[noreturn]] void Exec(const Child& child) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) _exit(127);  // it died before the kernel was told
  setsid();
  // The first terminal that the leader of a session opens controls it: Ctrl-C then means SIGINT.
  const bool shown = child.terminal != nullptr;
  const int in = open(shown ? child.terminal : "/dev/null", shown ? O_RDWR : O_RDONLY);
  dup2(in, STDIN_FILENO);
  dup2(shown ? in : child.out, STDOUT_FILENO);
  dup2(shown ? in : child.err, STDERR_FILENO);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (child.ignored > 0) signal(child.ignored, SIG_IGN);
  execvpe(child.arguments[0], child.arguments, child.environment);
  const char* error = strerror(errno);
  if (write(STDERR_FILENO, error, strlen(error)) < 0) _exit(126);
  _exit(127);
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& command, const SubprocessOptions& options)
    : name_(command[0]) {
  if (options.terminal) {
    OpenTerminal();
  } else if (!options.log.empty()) {
    out_ = open(options.log.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out_ < 0) Die(options.log);
    err_ = fcntl(out_, F_DUPFD_CLOEXEC, 0);
  } else {
    out_ = memfd_create("out", MFD_CLOEXEC);
    err_ = memfd_create("err", MFD_CLOEXEC);
  }
  std::vector<std::string> words = command;
  std::vector<std::string> variables = Environment(options.environment);
  const std::vector<char*> arguments = Pointers(words);
  const std::vector<char*> environment = Pointers(variables);
  const Child child = {.arguments = arguments.data(),
                       .environment = environment.data(),
                       .terminal = options.terminal ? ttyname(program_side_) : nullptr,
                       .out = out_,
                       .err = err_,
                       .ignored = options.ignored,
                       .parent = getpid()};
  pid_ = fork();
  if (pid_ == 0) Exec(child);
  if (pid_ < 0) Die("fork");
  ended_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (ended_ < 0) Die("pidfd_open");
}

void Subprocess::OpenTerminal() {
  winsize size = {};
  size.ws_row = 40;
  size.ws_col = 100;
  if (openpty(&terminal_, &program_side_, nullptr, nullptr, &size) != 0) Die("openpty");
  fcntl(terminal_, F_SETFD, FD_CLOEXEC);
  fcntl(program_side_, F_SETFD, FD_CLOEXEC);
  fcntl(terminal_, F_SETFL, O_NONBLOCK);
}

Subprocess::~Subprocess() {
  Kill();
  for (const int fd : {ended_, out_, err_, terminal_, program_side_}) {
    if (fd >= 0) close(fd);
  }
}

std::string Subprocess::Out() {
  if (terminal_ < 0) return Content(out_);
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t bytes = read(terminal_, buffer.data(), buffer.size());
    if (bytes <= 0) return shown_;
    shown_.append(buffer.data(), static_cast<size_t>(bytes));
  }
}

std::string Subprocess::Err() const { return err_ < 0 ? "" : Content(err_); }

bool Subprocess::AwaitOut(std::string_view text) {
  return WaitUntil([&] { return HasLine(Out(), text) || HasEnded(); }) && HasLine(Out(), text);
}

bool Subprocess::AwaitErr(std::string_view text) {
  return WaitUntil([&] { return HasLine(Err(), text) || HasEnded(); }) && HasLine(Err(), text);
}

void Subprocess::Type(const std::string& keys) const {
  if (write(terminal_, keys.data(), keys.size()) < 0) Die("typing");
}

void Subprocess::Signal(int signal) const { kill(pid_, signal); }

bool Subprocess::HasEnded(absl::Duration limit) {
  const absl::Duration until = absl::Nanoseconds(MonotonicNs()) + limit;
  while (!status_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = status;
      break;
    }
    const absl::Duration left = until - absl::Nanoseconds(MonotonicNs());
    if (left <= absl::ZeroDuration()) return false;
    // A terminal that nobody reads would stop its writer: it is read until the program ends.
    std::array<pollfd, 2> events = {pollfd{.fd = ended_, .events = POLLIN, .revents = 0},
                                    pollfd{.fd = terminal_, .events = POLLIN, .revents = 0}};
    const absl::Duration step = std::min(left, absl::Seconds(10));
    poll(events.data(), events.size(), static_cast<int>(absl::ToInt64Milliseconds(step)) + 1);
    if (terminal_ >= 0) Out();
  }
  return true;
}

Finished Subprocess::Wait(absl::Duration limit) {
  if (!HasEnded(limit)) Kill();
  const int status = *status_;
  return {.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          .out = Out(),
          .err = Err()};
}

void Subprocess::Kill() {
  if (HasEnded()) return;
  Signal(SIGKILL);
  HasEnded(absl::InfiniteDuration());
}

absl::Status Subprocess::Outcome() {
  if (!HasEnded()) return absl::FailedPreconditionError(absl::StrCat(name_, " is running"));
  const int status = *status_;
  if (status == 0) return absl::OkStatus();
  const std::string how = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                                              : absl::StrCat("exit status ", WEXITSTATUS(status));
  const std::string text = terminal_ < 0 ? Err() : Out();
  return absl::InternalError(absl::StrCat(name_, " ended with ", how, ":\n", LastLines(text)));
}

absl::Status Subprocess::Stop(absl::Duration grace) {
  if (HasEnded()) return Outcome();
  Signal(SIGTERM);
  if (!HasEnded(grace)) {
    Kill();
    return absl::DeadlineExceededError(absl::StrCat(name_, " had to be killed"));
  }
  const bool by_our_signal = WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGTERM;
  return by_our_signal ? absl::OkStatus() : Outcome();
}

}  // namespace headgate
