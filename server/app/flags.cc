#include "server/app/flags.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/host_port.h"
#include "common/reference/describe.h"
#include "common/reference/reference.h"
#include "server/serve/gateway/page_rules.h"

namespace headgate::app {
namespace {

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
                 "File that the HTTP port is written to, once it is listened on")
      ->type_name("FILE");
  cli.add_option(
         "--probe-address", flags.server.web.probe_address,
         "host:port in plaintext for /metrics, /healthz and /readyz alone, besides the HTTP "
         "port, with a thread of its own")
      ->envname("HEADGATE_PROBE_ADDRESS")
      ->check(CheckHostPort);
  cli.add_option("--probe-port-file", flags.server.web.probe_port_file,
                 "File that the port for probes is written to, once it is listened on")
      ->type_name("FILE");
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
           to = word == "refuse" ? IfExposed::kRefuse : IfExposed::kWarn;
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

}  // namespace

void DeclareFlags(CLI::App& cli, Flags& flags) {
  cli.set_version_flag("--version", std::string("headgated ") + kVersion);
  cli.add_option("--config", flags.server.config_path,
                 "Configuration file (YAML); it is read again when it changes. Without one there "
                 "is one target, no budget and no health")
      ->envname("HEADGATE_CONFIG")
      ->type_name("FILE")
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
      ->envname("HEADGATE_STATE_DIR")
      ->type_name("FOLDER");
  AddDuration(cli, "--grace", flags.server.grace,
              "How long running calls may take when the server stops, such as 10s")
      ->envname("HEADGATE_GRACE");
  AddDuration(cli, "--pre-stop", flags.server.pre_stop,
              "How long the server goes on answering after it has been told to stop and says "
              "NOT_SERVING, such as 5s, so that load balancers see it")
      ->envname("HEADGATE_PRE_STOP");
  cli.add_option("--port-file", flags.server.port_file,
                 "File that the port is written to, once it is listened on")
      ->type_name("FILE");
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
      ->type_name("FILE")
      ->check(NotEmpty);
  cli.add_flag(
      "--ask-databases", flags.ask_databases,
      "With --check-config: ask the databases that the file names too, for 2 s, and warn of "
      "what they say. Those that are not reached from here are passed over");
  // For packages.
  cli.add_option("--reference", flags.reference, "Only print the reference in a form")
      ->check(CLI::IsMember(reference::ReferenceForms()))
      ->group("");
}

std::string FlagsReference(const CLI::App& cli, const std::string& form) {
  reference::Program program{.root = reference::Describe(cli),
                             .version = kVersion,
                             .section = 8,
                             .summary = "decide whether work on PostgreSQL may be done now",
                             .exit_statuses = {{"0", "stopped by a signal, or done"},
                                               {"1", "something failed"},
                                               {"2", "wrong usage or configuration"}},
                             .examples = {},
                             .variables = {},
                             .files = {},
                             .see_also = {"headgate(1)"}};
  program.examples = {
      {"headgated --config headgate.yaml --state-dir /var/lib/headgate", "Serve on the loopback:"},
      {"headgated --check-config headgate.yaml --ask-databases",
       "Look at a file before it counts:"}};
  program.files = {
      {"/etc/headgate/headgate.yaml",
       "the configuration, where Headgate was installed as a package"},
      {"/etc/headgate/headgated.env",
       "variables of the service, such as connection strings; only "
       "root may read it"},
      {"/var/lib/headgate", "debt, permits, overrides and the throttle log of that service"}};
  return reference::ReferenceIn(form, program);
}

}  // namespace headgate::app
