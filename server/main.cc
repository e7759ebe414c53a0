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

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/host_port.h"
#include "common/system_clock.h"
#include "server/app/config_check.h"
#include "server/app/monotonic_waits.h"
#include "server/app/server.h"
#include "server/app/server_log.h"
#include "server/app/store_command.h"
#include "server/serve/gateway/page_rules.h"

namespace headgate {
namespace {

// Exit statuses, besides 0.
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// For whoever reads standard error.
constexpr absl::Duration kLogLimit = absl::Seconds(1);

struct Flags {
  app::ServerOptions server;
  std::string check_config;
  bool ask_databases = false;
  app::StoreCommand store;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string http_address = "127.0.0.1:8080";
};

// An empty variable counts as none; an empty path on the command line is a slip.
std::string NotEmpty(const std::string& path) { return path.empty() ? "the path is empty" : ""; }

// gRPC would take 127.0.0.1:70000 for port 4464, and a missing port for that of HTTPS.
std::string CheckHostPort(const std::string& address) {
  if (ParseHostPort(address).has_value()) return "";
  return absl::StrCat("must be ", kHostPortForm, "; it is '", absl::Utf8SafeCEscape(address), "'");
}

std::string CheckHostPortOrOff(const std::string& address) {
  return address == "off" ? "" : CheckHostPort(address);
}

CLI::Option* AddDuration(CLI::App& cli, const char* name, absl::Duration& duration,
                         const char* what) {
  return cli
      .add_option(
          name,
          [&duration, name](const CLI::results_t& values) {
            if (absl::ParseDuration(values[0], &duration) && duration >= absl::ZeroDuration() &&
                duration <= absl::Hours(1)) {
              return true;
            }
            throw CLI::ValidationError(
                name, absl::StrCat("must be a duration from 0 to 1h such as 10s; it is '",
                                   absl::Utf8SafeCEscape(values[0]), "'"));
          },
          what)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(duration));
}

void DeclareHttp(CLI::App& cli, Flags& flags) {
  cli.add_option(
         "--http-address", flags.http_address,
         "host:port for the API over HTTP, /metrics, /healthz and /readyz; port 0 picks a free "
         "one, off: none")
      ->envname("HEADGATE_HTTP_ADDRESS")
      ->check(CheckHostPortOrOff)
      ->capture_default_str();
  cli.add_option("--http-port-file", flags.server.web.port_file,
                 "File that the HTTP port is written to, once it is listened on");
  cli.add_option(
         "--probe-address", flags.server.web.probe_address,
         "host:port in plaintext for /metrics, /healthz and /readyz alone, besides the HTTP "
         "port, with a thread of its own")
      ->envname("HEADGATE_PROBE_ADDRESS")
      ->check(CheckHostPort);
  cli.add_option("--probe-port-file", flags.server.web.probe_port_file,
                 "File that the port for probes is written to, once it is listened on");
  AddDuration(cli, "--ready-after", flags.server.web.ready_after,
              "How long /readyz waits for the first sample of each target; then the server is "
              "ready in a degraded mode")
      ->envname("HEADGATE_READY_AFTER");
}

void DeclareStore(CLI::App& cli, Flags& flags) {
  cli.add_option("--store-tables", flags.store.action,
                 "Only make (init), upgrade or check the tables that several servers agree "
                 "through, and say what came of it: what headgate store runs; or ensure, which "
                 "makes or upgrades them, whichever it takes. With --config its targets are asked "
                 "too, for none of them may be the store")
      ->check(CLI::IsMember({"init", "upgrade", "ensure", "check"}));
  cli.add_option("--store-dsn", flags.store.dsn,
                 "Connection string of the store's database, for --store-tables")
      ->envname("HEADGATE_STORE_DSN");
}

std::string CheckOrigin(const std::string& origin) {
  if (gateway::IsOrigin(origin)) return "";
  return absl::StrCat("must be as browsers write it, such as https://headgate.example.com; it is '",
                      absl::Utf8SafeCEscape(origin), "'");
}

void DeclarePage(CLI::App& cli, Flags& flags) {
  using gateway::PageChanges;
  cli.add_option_function<std::string>(
         "--page",
         [&pages = flags.server.web.pages](const std::string& word) {
           pages.are_served = word != "off";
           pages.changes = word == "changes"     ? PageChanges::kAlways
                           : word == "read-only" ? PageChanges::kNever
                                                 : PageChanges::kWhereCallersAreKnown;
         },
         "The web page at / on the HTTP port: by-access, where it can change something only while "
         "`access` says who may; changes, without `access` too; read-only; or off")
      ->envname("HEADGATE_PAGE")
      ->check(CLI::IsMember({"by-access", "changes", "read-only", "off"}))
      ->default_str("by-access");
  cli.add_option("--page-origin", flags.server.web.pages.origins,
                 "Origin under which the page may call, besides an address, localhost, and any "
                 "name over TLS: that of a proxy, or a name in plaintext; may be repeated")
      ->envname("HEADGATE_PAGE_ORIGIN")
      ->type_name("ORIGIN")
      ->check(CheckOrigin);
}

void DeclareExposure(CLI::App& cli, Flags& flags) {
  cli.add_option_function<std::string>(
         "--if-exposed",
         [&to = flags.server.if_exposed](const std::string& word) {
           to = word == "refuse" ? app::IfExposed::kRefuse : app::IfExposed::kWarn;
         },
         "What to do where whoever reaches the network may do everything, since a port is not on "
         "the loopback and the file has neither tls nor access: warn, and serve; or refuse to "
         "start, as the image does unless it is told otherwise")
      ->envname("HEADGATE_IF_EXPOSED")
      ->check(CLI::IsMember({"warn", "refuse"}))
      ->default_str("warn");
}

void DeclareMember(CLI::App& cli, Flags& flags) {
  cli.add_option("--member", flags.server.member,
                 "What this server is called among those that share its targets, each by another "
                 "name. Goes with cluster in the file")
      ->envname("HEADGATE_MEMBER");
  cli.add_option("--member-address", flags.server.member_address,
                 "host:port of its gRPC port where the others reach it")
      ->envname("HEADGATE_MEMBER_ADDRESS")
      ->check(CheckHostPort);
}

void Declare(CLI::App& cli, Flags& flags) {
  cli.set_version_flag("--version", std::string("headgated ") + app::kVersion);
  cli.add_option("--config", flags.server.config_path,
                 "Configuration file (YAML); it is read again when it changes. Without one there "
                 "is one target, no budget and no health")
      ->envname("HEADGATE_CONFIG")
      ->check(NotEmpty);
  cli.add_option("--grpc-address", flags.server.grpc_address,
                 "host:port to listen on, instead of the file's; port 0 picks a free one")
      ->envname("HEADGATE_GRPC_ADDRESS")
      ->check(CheckHostPort);
  cli.add_option("--health-address", flags.server.health_address,
                 "host:port for probes that speak no TLS: only grpc.health.v1 is answered there. "
                 "Goes with tls in the file")
      ->envname("HEADGATE_HEALTH_ADDRESS")
      ->check(CheckHostPort);
  cli.add_option("--reflection", flags.server.reflection,
                 "Whether clients may ask which services there are, instead of the file's")
      ->envname("HEADGATE_REFLECTION");
  cli.add_option("--state-dir", flags.server.state_dir,
                 "Existing folder for debt, permits, overrides and the throttle log, instead of "
                 "the file's. Without one a restart forgets what is owed, overrides are refused, "
                 "and the log is kept in memory")
      ->envname("HEADGATE_STATE_DIR");
  AddDuration(cli, "--grace", flags.server.grace,
              "How long running calls may take when the server stops, such as 10s")
      ->envname("HEADGATE_GRACE");
  AddDuration(cli, "--pre-stop", flags.server.pre_stop,
              "How long the server goes on answering after it has been told to stop and says "
              "NOT_SERVING, such as 5s, so that load balancers see it")
      ->envname("HEADGATE_PRE_STOP");
  cli.add_option("--port-file", flags.server.port_file,
                 "File that the port is written to, once it is listened on");
  cli.add_option("--log-level", flags.log_level, "debug, info, warning or error")
      ->envname("HEADGATE_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  cli.add_option("--log-format", flags.log_format, "text, or json for one object a line")
      ->envname("HEADGATE_LOG_FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  DeclareHttp(cli, flags);
  DeclareStore(cli, flags);
  DeclareMember(cli, flags);
  DeclareExposure(cli, flags);
  DeclarePage(cli, flags);
  cli.add_option("--check-config", flags.check_config,
                 "Only say what is wrong with this file: exit status 0 if nothing is, else 2")
      ->check(NotEmpty);
  cli.add_flag(
      "--ask-databases", flags.ask_databases,
      "With --check-config: ask the databases that the file names too, for 2 s, and warn of "
      "what they say. Those that are not reached from here are passed over");
}

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
  Flags flags;
  Declare(cli, flags);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kWrongUsage;
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
