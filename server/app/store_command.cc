#include "server/app/store_command.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/app/protected_targets.h"
#include "server/govern/config/load.h"
#include "server/share/store/admin.h"

namespace headgate::app {
namespace {

// A target that cannot be asked now is a warning: the store is to be had while targets are down.
absl::Status FindProtected(const std::string& config_path, Clock& clock,
                           store::AdminOptions& options, std::vector<std::string>& warnings) {
  if (config_path.empty()) return absl::OkStatus();
  const config::LoadResult loaded = config::Load(config_path, clock.Read().wall());
  if (!loaded.config.has_value()) {
    return loaded.status();
  }
  for (const config::TargetSettings& target : loaded.config->targets) {
    if (!target.primary.has_value()) continue;
    absl::StatusOr<store::DatabaseIdentity> identity = Identify(*target.primary, clock);
    if (identity.ok()) {
      options.protected_databases.emplace_back(target.name, *std::move(identity));
    } else {
      warnings.push_back(absl::StrCat("whether target ", target.name,
                                      " is the store is not known: ", identity.status().message()));
    }
  }
  return absl::OkStatus();
}

// For a program, which cannot choose: tables that are missing are made, older ones upgraded, and
// newer ones left alone, if servers of this release may use them.
absl::StatusOr<std::string> Ensure(const store::AdminOptions& options, Clock& clock) {
  absl::StatusOr<std::string> made = store::Init(options, clock);
  if (made.ok()) return made;
  for (const auto another : {&store::Upgrade, &store::Check}) {
    absl::StatusOr<std::string> said = another(options, clock);
    if (said.ok()) return said;
  }
  return made;  // what is wrong
}

}  // namespace

absl::StatusOr<StoreAnswer> RunStoreCommand(const StoreCommand& command, Clock& clock) {
  if (command.dsn.empty()) {
    return absl::InvalidArgumentError(
        "the store's connection string is missing: --dsn, or HEADGATE_STORE_DSN");
  }
  StoreAnswer answer;
  store::AdminOptions options{.dsn = command.dsn, .on_note = [&answer](const std::string& note) {
                                answer.warnings.push_back(note);
                              }};
  absl::Status found = FindProtected(command.config_path, clock, options, answer.warnings);
  if (!found.ok()) return found;
  const auto run = command.action == "init"      ? &store::Init
                   : command.action == "upgrade" ? &store::Upgrade
                   : command.action == "ensure"  ? &Ensure
                                                 : &store::Check;
  absl::StatusOr<std::string> said = run(options, clock);
  if (!said.ok()) return said.status();
  answer.said = *std::move(said);
  return answer;
}

}  // namespace headgate::app
