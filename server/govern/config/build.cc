#include "server/govern/config/build.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/host_port.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

NameTable::Completeness CompletenessOf(const v1::Config& proto, const SourcePositions& positions,
                                       int field) {
  return positions.Spoilt(proto, field) ? NameTable::Completeness::kIncomplete
                                        : NameTable::Completeness::kComplete;
}

}  // namespace

void Builder::BuildServer() {
  using Proto = v1::ServerConfig;
  const Proto& server = proto.server();
  ServerSettings& to = config.server;
  if (!server.grpc_address().empty()) {
    to.grpc_address = server.grpc_address();
    if (!ParseHostPort(to.grpc_address).has_value()) {
      findings.Say(server, Proto::kGrpcAddressFieldNumber,
                   absl::StrCat("grpc_address must be ", kHostPortForm, "; it is ",
                                Quoted(to.grpc_address)));
    }
  }
  if (server.has_reflection()) to.reflection = server.reflection();
  if (server.has_max_message_bytes()) {
    to.max_message_bytes = server.max_message_bytes();
    findings.InRange(server, Proto::kMaxMessageBytesFieldNumber, to.max_message_bytes,
                     int64_t{1} << 10, int64_t{1} << 30);
  }
  if (server.has_threads()) {
    to.threads = server.threads();
    findings.InRange(server, Proto::kThreadsFieldNumber, to.threads, 1, kMaxThreads);
  }
  to.state_dir = server.state_dir();
  if (server.has_max_connections()) {
    to.max_connections = server.max_connections();
    findings.InRange(server, Proto::kMaxConnectionsFieldNumber, to.max_connections, 1,
                     kMaxConnections);
  }
  if (server.has_max_connection_age()) {
    to.max_connection_age =
        findings.InRange(server, Proto::kMaxConnectionAgeFieldNumber, server.max_connection_age(),
                         absl::Seconds(1), absl::Hours(24 * 7));
  }
}

void Builder::BuildLine() {
  using Proto = v1::LineConfig;
  const Proto& from = proto.server().line();
  LineSettings& to = config.server.line;
  if (from.has_max_waiting()) {
    to.max_waiting = from.max_waiting();
    findings.InRange(from, Proto::kMaxWaitingFieldNumber, to.max_waiting, int64_t{0},
                     int64_t{1} << 20);
  }
  if (from.has_max_waiting_share()) {
    to.max_waiting_share = from.max_waiting_share();
    findings.InRange(from, Proto::kMaxWaitingShareFieldNumber, to.max_waiting_share, 0.001, 1.0);
  }
  if (from.has_priority_floor()) {
    to.priority_floor = from.priority_floor();
    findings.InRange(from, Proto::kPriorityFloorFieldNumber, to.priority_floor, 0.0, 0.25);
  }
}

void Builder::BuildEngine() {
  using Proto = v1::EngineConfig;
  const Proto& from = proto.engine();
  engine::EngineOptions& to = config.engine;
  if (from.has_permit_ttl()) {
    to.permit_ttl = findings.InRange(from, Proto::kPermitTtlFieldNumber, from.permit_ttl(),
                                     absl::Milliseconds(1), absl::Hours(24));
  }
  const auto size = [&](int field, int64_t value, int64_t least, int64_t most) {
    findings.InRange(from, field, value, least, most);
    return static_cast<size_t>(value);
  };
  constexpr int64_t kMaxEntries = int64_t{1} << 24;
  if (from.has_max_permits()) {
    to.max_permits = size(Proto::kMaxPermitsFieldNumber, from.max_permits(), 64, kMaxEntries);
  }
  if (from.has_max_patterns()) {
    to.max_patterns = size(Proto::kMaxPatternsFieldNumber, from.max_patterns(), 64, kMaxEntries);
  }
  if (from.has_bucket_bytes()) {
    to.bucket_bytes = size(Proto::kBucketBytesFieldNumber, from.bucket_bytes(), int64_t{1} << 12,
                           int64_t{1} << 40);
  }
  if (from.has_max_permit_share()) {
    to.max_permit_share = from.max_permit_share();
    // NaN is neither.
    if (!(to.max_permit_share > 0 && to.max_permit_share <= 1)) {
      findings.Say(from, Proto::kMaxPermitShareFieldNumber,
                   absl::StrCat("max_permit_share must be above 0 and at most 1; it is ",
                                to.max_permit_share));
    }
  }
}

void Builder::RequireProfile(const google::protobuf::Message& message, int field,
                             const std::string& name) {
  if (name.empty()) return;
  if (!profiles.Require(positions().At(message, field), name)) return;
  for (const v1::Target& target : proto.targets()) {
    if (positions().Given(target, v1::Target::kPrimaryFieldNumber)) return;
  }
  if (positions().Spoilt(proto, v1::Config::kTargetsFieldNumber)) return;
  findings.Say(message, field,
               absl::StrCat("health profile ", Quoted(name),
                            " cannot be measured: no target has a primary"));
}

Config BuildConfig(const v1::Config& proto, Findings& findings, const BuildOptions& options) {
  Config config;
  const auto names = [&](const char* what, int field) {
    return NameTable(what, CompletenessOf(proto, findings.positions(), field), findings);
  };
  NameTable targets = names("target", v1::Config::kTargetsFieldNumber);
  NameTable profiles = names("health profile", v1::Config::kHealthProfilesFieldNumber);
  NameTable budgets = names("budget", v1::Config::kBudgetsFieldNumber);
  NameTable rules = names("rule", v1::Config::kRulesFieldNumber);
  targets.AddAll(proto.targets());
  profiles.AddAll(proto.health_profiles());
  budgets.AddAll(proto.budgets());
  rules.AddAll(proto.rules());

  Builder builder{.proto = proto,
                  .findings = findings,
                  .targets = targets,
                  .profiles = profiles,
                  .budgets = budgets,
                  .config = config,
                  .other_files = options.other_files,
                  .now = options.now};
  builder.BuildServer();
  builder.BuildLine();
  builder.BuildEngine();
  builder.BuildTargets();
  builder.BuildProfiles();
  builder.BuildBudgets();
  builder.BuildRules();
  builder.BuildThrottleLog();
  builder.BuildTls();
  builder.BuildAccess();
  builder.BuildCluster();
  config.identity_names = builder.identity_names;
  return config;
}

}  // namespace headgate::config
