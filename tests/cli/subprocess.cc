#include "tests/cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

std::vector<std::string> Environment(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> values = {{"TZ", "UTC"}, {"TERM", "xterm"}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    // What would change the output from one machine to the next.
    if (name == "NO_COLOR" || name == "HEADGATE_ADDRESS" || name == "GRPC_VERBOSITY") continue;
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

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& command, const SubprocessOptions& options) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (options.terminal) {
    winsize size = {};
    size.ws_row = 40;
    size.ws_col = 100;
    EXPECT_EQ(openpty(&terminal_, &program_side_, nullptr, nullptr, &size), 0);
    fcntl(terminal_, F_SETFD, FD_CLOEXEC);
    fcntl(program_side_, F_SETFD, FD_CLOEXEC);
    fcntl(terminal_, F_SETFL, O_NONBLOCK);
    // The first terminal that the leader of a session opens controls it: Ctrl-C then means SIGINT.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, ttyname(program_side_), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
  } else {
    out_ = memfd_create("out", MFD_CLOEXEC);
    err_ = memfd_create("err", MFD_CLOEXEC);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_, STDERR_FILENO);
  }
  std::vector<std::string> words = command;
  std::vector<std::string> environment = Environment(options.environment);
  // What is ignored here is ignored there.
  const auto before = options.ignored > 0 ? signal(options.ignored, SIG_IGN) : SIG_DFL;
  const int error = posix_spawnp(&pid_, words[0].c_str(), &actions, &attributes,
                                 Pointers(words).data(), Pointers(environment).data());
  if (options.ignored > 0) signal(options.ignored, before);
  EXPECT_EQ(error, 0) << words[0];
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

Subprocess::~Subprocess() {
  if (!status_) {
    Signal(SIGKILL);
    Wait();
  }
  for (const int fd : {out_, err_, terminal_, program_side_}) {
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

std::string Subprocess::Err() { return err_ < 0 ? "" : Content(err_); }

void Subprocess::Type(const std::string& keys) {
  EXPECT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

void Subprocess::Signal(int signal) { kill(pid_, signal); }

Finished Subprocess::Wait() {
  // A terminal that nobody reads would stop its writer: read on until it ends.
  int status = 0;
  while (!status_) {
    const pid_t ended = waitpid(pid_, &status, terminal_ < 0 ? 0 : WNOHANG);
    if (ended == pid_) status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (terminal_ >= 0 && ended == 0) {
      Out();
      poll(nullptr, 0, 5);
    }
  }
  return {.status = *status_, .out = Out(), .err = Err()};
}

Finished RunHeadgate(std::vector<std::string> words, const SubprocessOptions& options) {
  words.insert(words.begin(), HEADGATE_PROGRAM);
  return Subprocess(words, options).Wait();
}

}  // namespace headgate::cli
