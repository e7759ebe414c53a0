#include "server/govern/config/shown_text.h"

#include <yaml-cpp/yaml.h>

#include "absl/strings/str_cat.h"

namespace headgate::config {
namespace {

constexpr const char* kOfTheServer[] = {"server", "tls", "access", "cluster", "throttle_log"};
constexpr char kNotShown[] = "host=not-shown";

// Of `primary`, and of each of `standbys`, the connection string.
void HideConnections(YAML::Node target) {
  const auto hide = [](YAML::Node server) {
    if (server.IsMap() && server["dsn"]) server["dsn"] = kNotShown;
  };
  if (!target.IsMap()) return;
  if (target["primary"]) hide(target["primary"]);
  for (YAML::Node standby : target["standbys"]) {
    if (standby.IsMap() && standby["connection"]) hide(standby["connection"]);
  }
}

}  // namespace

absl::StatusOr<std::string> ShownText(std::string_view text) {
  try {
    YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) return std::string("{}\n");
    for (const char* key : kOfTheServer) root.remove(key);
    for (YAML::Node target : root["targets"]) HideConnections(target);
    YAML::Emitter out;
    out << root;
    return absl::StrCat(out.c_str(), "\n");
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace headgate::config
