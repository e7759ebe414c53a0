#include "tests/sdk/cpp/world.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/sdk/cpp/fields.h"
#include "tests/testing/subprocess.h"

namespace headgate::client {
namespace {

// A busy machine must not fail a test.
constexpr absl::Duration kDeadlineOnAServer = absl::Seconds(10);

OnUnreachable PolicyOf(const std::optional<YAML::Node>& node) {
  if (!node.has_value()) return OnUnreachable::Fail();
  if (node->IsMap()) {
    Fields fields(*node, "on_unreachable");
    const auto rate = fields.Get<double>("floor_rate", 0);
    fields.Finish();
    return OnUnreachable::FloorRate(rate);
  }
  const auto name = node->as<std::string>();
  if (name == "fail") return OnUnreachable::Fail();
  if (name == "wait") return OnUnreachable::Wait();
  if (name == "proceed") return OnUnreachable::Proceed();
  throw std::invalid_argument(absl::StrCat("there is no policy ", name));
}

TlsOptions TlsOf(const YAML::Node& node) {
  Fields fields(node, "tls");
  TlsOptions tls{.ca_file = fields.Get<std::string>("ca_file", ""),
                 .certificate_file = fields.Get<std::string>("certificate_file", ""),
                 .key_file = fields.Get<std::string>("key_file", ""),
                 .server_name = fields.Get<std::string>("server_name", "")};
  fields.Finish();
  return tls;
}

ClientOptions OptionsOf(const YAML::Node& node, Place place) {
  Fields fields(node, "a client");
  ClientOptions options{.on_unreachable = PolicyOf(fields.Find("on_unreachable")),
                        .identity = fields.Get<std::string>("identity", "nightly:etl"),
                        .target = fields.Get<std::string>("target", "")};
  if (place == Place::kServer) options.check_deadline = kDeadlineOnAServer;
  const auto set = [&](const char* key, absl::Duration& option) {
    option = fields.Duration(key).value_or(option);
  };
  set("check_deadline", options.check_deadline);
  set("longest_wait", options.longest_wait);
  set("outage_pause", options.outage_pause);
  set("flush_timeout", options.flush_timeout);
  options.max_queued_reports = fields.Get("max_queued_reports", options.max_queued_reports);
  if (const auto tls = fields.Find("tls")) options.tls = TlsOf(*tls);
  options.token_file = fields.Get<std::string>("token_file", "");
  fields.Finish();
  return options;
}

YAML::Node OrEmpty(const YAML::Node& node) {
  return node.IsDefined() ? node : YAML::Node(YAML::NodeType::Map);
}

}  // namespace

World::World(const std::string& text, Place place)
    : place_(place),
      scenario_(YAML::Load(absl::StrReplaceAll(text, {{"$DIR", folder_.path().string()}}))) {
  PrepareFiles();
  if (place_ == Place::kServer) StartServer();
  const auto make = [this](const std::string& name, const YAML::Node& options) {
    absl::StatusOr<std::unique_ptr<Client>> client = NewClient(options);
    if (!client.ok()) throw std::runtime_error(client.status().ToString());
    clients_[name] = *std::move(client);
  };
  make("default", OrEmpty(scenario_["client"]));
  for (const auto& each : OrEmpty(scenario_["clients"])) {
    make(each.first.as<std::string>(), each.second);
  }
}

void World::PrepareFiles() {
  const YAML::Node wants = scenario_["certificates"];
  if (wants.IsDefined() && wants.as<bool>()) {
    const Finished made = Subprocess({"bash", absl::StrCat(HEADGATE_SDK_TESTS, "/certificates.sh"),
                                      folder_.path().string()})
                              .Wait();
    if (made.status != 0) throw std::runtime_error("certificates.sh: " + made.err);
  }
  for (const auto& file : OrEmpty(scenario_["files"])) {
    Write(file.first.as<std::string>(), file.second.as<std::string>());
  }
  for (const auto& copy : OrEmpty(scenario_["copies"])) {
    Write(copy.first.as<std::string>(), Read(copy.second.as<std::string>()));
  }
}

void World::StartServer() {
  const YAML::Node several = scenario_["servers"];
  if (several.IsDefined() && several.as<bool>()) {
    servers_.emplace(folder_.path().string());
    return;
  }
  HeadgatedOptions options{.yaml = YAML::Dump(OrEmpty(scenario_["server"])),
                           .folder = folder_.path()};
  const YAML::Node state = scenario_["state"];
  options.stateless = !state.IsDefined() || !state.as<bool>();
  server_.emplace(std::move(options));
  DoWithServer("start");
}

absl::StatusOr<std::unique_ptr<Client>> World::NewClient(const YAML::Node& node) {
  ClientOptions options = OptionsOf(node, place_);
  if (place_ == Place::kFake) return fake_.NewClient(options);
  options.address = Address();
  return Client::Create(options);
}

std::unique_ptr<Client>& World::Named(const std::string& name) {
  const auto found = clients_.find(name);
  if (found == clients_.end()) throw std::invalid_argument("there is no client " + name);
  return found->second;
}

absl::Duration World::Now() {
  return place_ == Place::kFake ? fake_.time().Now() : real_time_->Now();
}

void World::Pass(absl::Duration duration) {
  if (place_ == Place::kFake) {
    fake_.time().Advance(duration);
  } else {
    real_time_->Wait(duration, {});
  }
}

std::string World::Read(const std::string& name) const {
  std::ifstream file(folder_.path() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void World::DoWithServer(const std::string& what) {
  if (what != "start" && what != "stop" && what != "kill") {
    throw std::invalid_argument("a server cannot " + what);
  }
  if (place_ == Place::kFake) {
    fake_.SetNetwork(what == "start" ? FakeHeadgate::Network::kUp : FakeHeadgate::Network::kDown);
    return;
  }
  absl::Status status;
  if (what == "start") status = server_->Start();
  if (what == "stop") status = server_->Stop();
  if (what == "kill") server_->Kill();
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

std::string World::DoWithServers(const std::string& what) {
  if (!servers_.has_value()) throw std::invalid_argument("there are no two servers");
  return servers_->Do(what);
}

Seen World::News() {
  Seen seen{.checks = fake_.checks(),
            .reports = fake_.reports(),
            .outstanding = fake_.outstanding().size(),
            .waited = fake_.time().Waited() - waited_shown_};
  const auto leave_out = [](auto& all, size_t& shown) {
    const size_t count = all.size();
    all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(shown));
    shown = count;
  };
  leave_out(seen.checks, checks_shown_);
  leave_out(seen.reports, reports_shown_);
  waited_shown_ += seen.waited;
  return seen;
}

}  // namespace headgate::client
