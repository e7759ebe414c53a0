// OtherProcess: this program once more, which answers each line that it is told with one of its
// own. So what it does takes none of this process's threads, and its CPU time is not counted here.
//
//   OtherProcess callers(absl::StrCat("--callers-of=", port));
//   const std::string answer = callers.Do("check 3000");

#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern char** environ;

namespace headgate::bench {

class OtherProcess {
 public:
  // It gets one argument.
  explicit OtherProcess(const std::string& argument) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) Fail();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const char* arguments[] = {"/proc/self/exe", argument.c_str(), nullptr};
    if (posix_spawn(&pid_, arguments[0], &actions, nullptr, const_cast<char**>(arguments),
                    environ) != 0) {
      Fail();
    }
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
  }
  // Its input ends, and it with that.
  ~OtherProcess() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  std::string Do(const std::string& what) {
    if (std::fprintf(to_, "%s\n", what.c_str()) < 0 || std::fflush(to_) != 0) Fail();  // or SIGPIPE
    std::string answer;
    for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
      if (c == EOF) Fail();
      answer += static_cast<char>(c);
    }
    return answer;
  }

 private:
  [[noreturn]] static void Fail() {
    std::fprintf(stderr, "the benchmark's other process does not start, or is gone\n");
    std::exit(EXIT_FAILURE);
  }

  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace headgate::bench
