// World: what one scenario is played in. It has a folder, a server or a fake, and clients of it.
//
// Thread-compatible; what a step of a background has to share is given to it before it begins.
#pragma once

#include <headgate/client.h>
#include <headgate/fake.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/sdk/cpp/expectation.h"
#include "tests/sdk/servers/two_servers.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/temp_folder.h"

namespace headgate::client {

class World {
 public:
  // Plays nothing yet. `text` is the scenario's YAML; $DIR in it becomes the folder.
  World(const std::string& text, Place place);

  const YAML::Node& scenario() const { return scenario_; }
  Place place() const { return place_; }
  FakeHeadgate& fake() { return fake_; }
  std::string Address() { return servers_ ? servers_->address() : server_->address(); }
  std::string ServerLog() const { return server_.has_value() ? server_->Log() : ""; }

  absl::StatusOr<std::unique_ptr<Client>> NewClient(const YAML::Node& options);
  // Null: it was closed.
  std::unique_ptr<Client>& Named(const std::string& name);
  void Keep(const std::string& name, std::unique_ptr<Client> client) {
    clients_[name] = std::move(client);
  }

  // By the clients' clock.
  absl::Duration Now();
  void Pass(absl::Duration duration);
  void Write(const std::string& name, const std::string& text) const {
    folder_.RenameOver(name, text);
  }
  std::string Read(const std::string& name) const;
  void Rewrite(const YAML::Node& config) const { server_->Rewrite(YAML::Dump(config)); }
  void DoWithServer(const std::string& what);
  // Of `servers: true` only.
  std::string DoWithServers(const std::string& what);
  Seen News();

 private:
  void PrepareFiles();
  void StartServer();

  const TempFolder folder_;
  const Place place_;
  const YAML::Node scenario_;
  const std::shared_ptr<TimeSource> real_time_ = NewRealTime();
  FakeHeadgate fake_;
  std::optional<HeadgatedProcess> server_;
  std::optional<TwoServers> servers_;
  std::map<std::string, std::unique_ptr<Client>> clients_;  // last: they end before the server
  size_t checks_shown_ = 0;
  size_t reports_shown_ = 0;
  absl::Duration waited_shown_;
};

}  // namespace headgate::client
