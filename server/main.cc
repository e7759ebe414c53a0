// headgated: the throttler's server. Flags, signals and the exit status; everything else is in
// server/app.

#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/system_clock.h"
#include "server/app/config_check.h"
#include "server/app/flags.h"
#include "server/app/monotonic_waits.h"
#include "server/app/server.h"
#include "server/app/server_log.h"
#include "server/app/store_command.h"

namespace headgate {
namespace {

// Exit statuses, besides 0.
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// For whoever reads standard error.
constexpr absl::Duration kLogLimit = absl::Seconds(1);

int DoWithStore(app::StoreCommand command, const std::string& config_path) {
  command.config_path = config_path;
  SystemClock clock;
  const absl::StatusOr<app::StoreAnswer> answer = app::RunStoreCommand(command, clock);
  if (!answer.ok()) {
    std::cerr << answer.status().message() << '\n';
    return absl::IsInvalidArgument(answer.status()) ? kWrongUsage : kFailed;
  }
  for (const std::string& warning : answer->warnings) std::cerr << "warning: " << warning << '\n';
  std::cout << answer->said << '\n';
  return 0;
}

// Blocked in every thread, so that this one can wait for them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow (ulimit -f) is a write that fails, like one on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  return signals;
}

// Glibc gives threads heaps of their own, up to eight for each CPU, and what one thread allocates
// and another frees stays in its heap: gRPC's threads do that with every connection. In two minutes
// of ./dev soak memory rose from 111 to 137 MiB; with two heaps it stayed at 72. What that costs
// does not show: in ./dev bench rpc a Check is 1.10 times an empty RPC, and 1.13 without.
// It fails only where another allocator serves malloc, which has its own ways.
void BoundHeap() {
  mallopt(M_ARENA_MAX, 2);
  // Large buffers (snapshots, messages, rows of the log) are to leave no holes in the heap. Unless
  // it is set, the threshold rises with each of them that is freed.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  // Small pieces that are freed are joined at once. Else they pile up, and whichever thread asks
  // for a larger one next joins all of them: 6 ms for an honest Check beside one of 100,000 tags.
  mallopt(M_MXFAST, 0);
}

// Every connection is an open file. The soft limit is mostly 1024, for the sake of select(), which
// is not used here.
void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) app::LogWarning("the limit of open files stays low");
}

// The kernel doubles its table of a process's files when that is full, and the thread whose file is
// one too many waits until every processor has taken note: on a busy machine each time up to 15 ms,
// in which a port accepts nobody. While there is one thread it costs nothing. This is for twice the
// connections that there are by default, and 128 KiB of the kernel's memory.
void MakeRoomForFiles() {
  constexpr rlim_t kFiles = 16 << 10;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const FileDescriptor any(open("/", O_PATH | O_CLOEXEC));
  const FileDescriptor last(
      fcntl(any.number(), F_DUPFD_CLOEXEC, std::min(kFiles, limit.rlim_cur) - 1));
}

// Whoever asks twice does not want to wait any longer.
void EndAtNextSignal(const sigset_t& signals) {
  std::thread([signals] {
    int signal = 0;
    do {
      sigwait(&signals, &signal);
    } while (signal != SIGINT && signal != SIGTERM);
    app::LogWarning("stopped at once, by a second signal", {{"signal", absl::StrCat(signal)}});
    app::FlushLog(kLogLimit);
    _exit(kFailed);
  }).detach();
}

void Stop(app::Server& server, absl::Duration pre_stop, const sigset_t& signals) {
  EndAtNextSignal(signals);
  server.AnnounceStop();
  // Waits for none of them: only for the time to pass.
  sigset_t none;
  sigemptyset(&none);
  const timespec limit = absl::ToTimespec(pre_stop);
  if (pre_stop > absl::ZeroDuration()) sigtimedwait(&none, nullptr, &limit);
  server.Stop();
  app::LogInfo("stopped");
}

// Until a signal says to stop.
void Run(app::Server& server, absl::Duration pre_stop, const sigset_t& signals) {
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGHUP) {
      app::LogInfo("nothing to reload: the configuration file is read whenever it changes");
    } else {
      app::LogInfo("stopping", {{"signal", absl::StrCat(signal)}});
      Stop(server, pre_stop, signals);
      return;
    }
  }
}

// Behind what was logged before, unless nobody reads it.
void Complain(absl::string_view message) {
  if (app::FlushLog(kLogLimit)) std::cerr << absl::StrCat("headgated: ", message, "\n");
}

int Fail(const absl::Status& status) {
  Complain(status.message());
  return absl::IsInvalidArgument(status) ? kWrongUsage : kFailed;
}

int Serve(const app::ServerOptions& options) {
  app::WaitByTheMonotonicClock();
  BoundHeap();
  const sigset_t signals = BlockSignals();
  RaiseFileLimit();
  MakeRoomForFiles();
  SystemClock clock;
  absl::StatusOr<std::unique_ptr<app::Server>> server = app::Server::Start(options, clock);
  if (!server.ok()) return Fail(server.status());
  Run(**server, options.pre_stop, signals);
  app::FlushLog(kLogLimit);
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App cli("Headgate's server: decides whether work on PostgreSQL may be done now.",
               "headgated");
  app::Flags flags;
  app::DeclareFlags(cli, flags);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kWrongUsage;
  }
  if (!flags.reference.empty()) {
    std::cout << app::FlagsReference(cli, flags.reference);
    return 0;
  }
  app::SetUpLog(flags.log_level,
                flags.log_format == "json" ? app::LogFormat::kJson : app::LogFormat::kText);
  flags.server.web.address = flags.http_address == "off" ? "" : flags.http_address;
  // It would write a line for each string that is not UTF-8, and callers choose the strings: what
  // is wrong with a request they are told in its error.
  google::protobuf::SetLogHandler(nullptr);
  if (!flags.store.action.empty()) return DoWithStore(flags.store, flags.server.config_path);
  if (flags.check_config.empty()) return Serve(flags.server);
  return app::CheckConfig(flags.check_config, flags.ask_databases) ? 0 : kWrongUsage;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) {
  try {
    return headgate::Main(argc, argv);
  } catch (const std::exception& error) {  // such as no memory for the tables that were asked for
    headgate::Complain(error.what());
    return headgate::kFailed;
  }
}
