#include "client/cli/arguments/global_options.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/time/time.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "common/shell_words.h"

namespace headgate::cli {
namespace {

// Any of the options says that TLS is wanted.
void AddTls(CLI::App& app, Globals& globals) {
  const auto tls = [&globals]() -> client::TlsOptions& {
    return globals.tls.has_value() ? *globals.tls : globals.tls.emplace();
  };
  app.add_flag_function(
         "--tls",
         [tls](int64_t count) {
           if (count > 0) tls();
         },
         "speak TLS; so does any option below")
      // CLI11 itself ends the program over a variable that is no number.
      ->check([](const std::string& text) {
        const absl::StatusOr<bool> is_on = SwitchFromText(text);
        return is_on.ok() ? "" : std::string(is_on.status().message());
      })
      ->envname("HEADGATE_TLS");
  const auto add = [&](const char* name, const char* variable, const char* type,
                       std::string client::TlsOptions::*member, const char* help) {
    app.add_option_function<std::string>(
           name,
           [name, tls, member](const std::string& text) {
             if (text.empty()) Refuse(name, "it is empty");
             tls().*member = text;
           },
           help)
        ->envname(variable)
        ->type_name(type);
  };
  add("--tls-ca", "HEADGATE_TLS_CA", "FILE", &client::TlsOptions::ca_file,
      "authorities that the server is verified with; absent: the system's");
  add("--tls-cert", "HEADGATE_TLS_CERT", "FILE", &client::TlsOptions::certificate_file,
      "your certificate, for servers that ask for one");
  add("--tls-key", "HEADGATE_TLS_KEY", "FILE", &client::TlsOptions::key_file, "its key");
  add("--tls-server-name", "HEADGATE_TLS_SERVER_NAME", "NAME", &client::TlsOptions::server_name,
      "what the server's certificate is for, instead of the address");
  app.add_option("--token-file", globals.token_file, "a file with a token to send; over TLS only")
      ->envname("HEADGATE_TOKEN_FILE")
      ->type_name("FILE");
}

}  // namespace

void AddGlobals(CLI::App& app, Globals& globals) {
  globals.zone = absl::LocalTimeZone();
  app.add_option("--address", globals.address, "the server")
      ->envname("HEADGATE_ADDRESS")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  AddTls(app, globals);
  AddParsed<absl::Duration>(app, "--timeout", "DURATION", globals.timeout, PositiveDurationFromText,
                            "how long one answer may take [2s; log 30s, replay 5m]");
  // Not by CLI11, for which a variable is as good as the option: an agent's own comes between them.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const target = std::getenv("HEADGATE_TARGET");
  if (target != nullptr) globals.target = target;
  // An unset variable of a shell must not mean all targets.
  const auto set_target = [&globals](const std::string& name) {
    if (name.empty()) Refuse("--target", "it is empty");
    globals.target = name;
  };
  app.add_option_function<std::string>("--target", set_target,
                                       "the PostgreSQL cluster, where there are several "
                                       "[$HEADGATE_TARGET]")
      ->type_name("NAME");
  AddWord<Format>(app, "-o,--output", globals.format,
                  {{"table", Format::kTable}, {"json", Format::kJson}, {"csv", Format::kCsv}},
                  "the form of answers [table]");
  app.add_flag_callback(
      "--utc", [&globals] { globals.zone = absl::UTCTimeZone(); },
      "times in UTC, read and shown [local time; json and csv are in UTC]");
  AddWord<ColourChoice>(app, "--color", globals.colours,
                        {{"auto", ColourChoice::kAuto},
                         {"always", ColourChoice::kAlways},
                         {"never", ColourChoice::kNever}},
                        "whether answers have colours [auto]");
}

std::string ConnectionOf(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool reaches = name == "--address" || name == "--token-file" || name.starts_with("--tls");
    if (!reaches || option->count() == 0) continue;
    const std::string value = option->results().back();
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
    const char* const set = std::getenv(option->get_envname().c_str());
    if (set != nullptr && value == set) continue;
    absl::StrAppend(&words, " ", name, name == "--tls" ? "" : " " + ShellWord(value));
  }
  return words;
}

}  // namespace headgate::cli
