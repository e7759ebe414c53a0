// Status as one table of rows of several kinds: a program filters by the first column.

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/cli/output/agent_text.h"
#include "client/cli/output/line_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/status/status_text.h"

namespace headgate::cli {
namespace {

struct Row {
  std::string kind;
  std::string target = {};
  std::string name = {};
  std::string state = {};
  std::string value = {};
  std::string speed = {};
  std::string pressure = {};
  std::string age_s = {};
  std::string detail = {};
};

void Add(const Row& row, Table& table) {
  table.Add({{row.kind},
             {row.target},
             {row.name},
             {row.state},
             {row.value},
             {row.speed},
             {row.pressure},
             {row.age_s},
             {row.detail}});
}

void AddConfig(const v1::ConfigStatus& config, Table& table) {
  Add({.kind = "config",
       .name = config.path(),
       .state = config.errors().empty() ? "in force" : "newest file refused",
       .value = absl::StrCat(config.version()),
       .detail = Rfc3339(config.has_loaded_at(), config.loaded_at())},
      table);
  for (const std::string& error : config.errors()) {
    Add({.kind = "config_error", .name = config.path(), .detail = error}, table);
  }
  for (const std::string& warning : config.warnings()) {
    Add({.kind = "config_warning", .name = config.path(), .detail = warning}, table);
  }
  for (const std::string& field : config.pending_restart()) {
    Add({.kind = "pending_restart", .name = field}, table);
  }
}

void AddPermits(const v1::GetStatusResponse& status, Table& table) {
  if (!status.has_permits()) return;
  const v1::PermitsStatus& permits = status.permits();
  const auto count = [&table](const char* kind, int64_t value) {
    Add({.kind = kind, .value = absl::StrCat(value)}, table);
  };
  count("permits_capacity", permits.capacity());
  count("permits_most_for_one", permits.most_for_one());
  count("permits_turned_away", permits.turned_away());
  count("permits_without", permits.without_permit());
  for (const v1::PermitHolder& holder : permits.holders()) {
    Add({.kind = "permit_holder",
         .name = holder.name(),
         .state = holder.is_caller() ? "caller" : "root identity",
         .value = absl::StrCat(holder.permits()),
         .detail = absl::StrCat("turned away ", holder.turned_away())},
        table);
  }
}

void AddWaiting(const v1::GetStatusResponse& status, Table& table) {
  if (!status.has_waiting()) return;
  const v1::WaitingStatus& waiting = status.waiting();
  const auto count = [&table](const char* kind, int64_t value) {
    Add({.kind = kind, .value = absl::StrCat(value)}, table);
  };
  Add({.kind = "waiting",
       .value = absl::StrCat(waiting.waiting()),
       .age_s = Seconds(waiting.has_longest_waited(), waiting.longest_waited())},
      table);
  count("waiting_most", waiting.max_waiting());
  count("waiting_admitted", waiting.admitted());
  count("waiting_timed_out", waiting.timed_out());
  count("waiting_left", waiting.left());
  count("waiting_turned_away", waiting.turned_away());
  for (const v1::LineStatus& line : waiting.longest()) {
    Add({.kind = "line",
         .target = line.target(),
         .name = WaitsFor(line),
         .value = absl::StrCat(line.waiting()),
         .age_s = Seconds(line.has_longest_waited(), line.longest_waited())},
        table);
    for (const v1::LineWaiter& waiter : line.next()) {
      Add({.kind = "waiter",
           .target = line.target(),
           .name = waiter.identity(),
           .state = absl::StrCat("place ", waiter.position()),
           .value = ExactNumber(waiter.cost()),
           .age_s = Seconds(true, waiter.waited()),
           .detail = WaitsFor(line)},
          table);
    }
  }
}

void AddThrottleLog(const v1::ThrottleLogStatus& log, Table& table) {
  if (log.store().empty()) return;
  Add({.kind = "throttle_log",
       .name = log.store(),
       .state = log.error().empty() ? "written" : "cannot be written",
       .value = absl::StrCat(log.bytes()),
       .detail = log.error().empty() ? log.note() : log.error()},
      table);
  const auto count = [&table](const char* kind, int64_t value) {
    Add({.kind = kind, .value = absl::StrCat(value)}, table);
  };
  count("throttle_log_rows_written", log.rows_written());
  count("throttle_log_rows_buffered", log.rows_buffered());
  count("throttle_log_dropped_checks", log.dropped_checks());
  count("throttle_log_folded_checks", log.folded_checks());
}

void AddOverrides(const v1::GetStatusResponse& status, Table& table) {
  if (!status.has_overrides()) return;
  Add({.kind = "overrides",
       .state = status.overrides().error().empty() ? "written" : "cannot be written",
       .value = absl::StrCat(status.overrides().in_force()),
       .detail = status.overrides().error()},
      table);
  for (const v1::Override& stop : status.overrides().stops()) {
    Add({.kind = "stop",
         .target = stop.selector().target(),
         .name = absl::StrCat(stop.id()),
         .state = stop.kind() == v1::OVERRIDE_KIND_THROTTLE ? "throttled" : "paused",
         .value = stop.kind() == v1::OVERRIDE_KIND_THROTTLE ? ExactNumber(stop.ratio()) : "",
         .detail = absl::StrCat(stop.actor(), ": ", stop.reason())},
        table);
  }
}

void AddSnapshot(const v1::GetStatusResponse& status, Table& table) {
  if (!status.has_snapshot()) return;
  const v1::SnapshotStatus& snapshot = status.snapshot();
  Add({.kind = "snapshot",
       .name = snapshot.path(),
       .state = snapshot.error().empty() ? "written" : "cannot be written",
       .value = absl::StrCat(snapshot.bytes()),
       .age_s = Seconds(snapshot.has_age(), snapshot.age()),
       .detail = snapshot.error()},
      table);
  Add({.kind = "snapshot_restored",
       .state = snapshot.has_restored_from() ? "restored" : "nothing restored",
       .value = absl::StrCat(snapshot.restored_buckets()),
       .detail = Rfc3339(snapshot.has_restored_from(), snapshot.restored_from())},
      table);
  if (snapshot.refused().empty()) return;
  Add({.kind = "snapshot_refused", .name = snapshot.set_aside(), .detail = snapshot.refused()},
      table);
}

void AddTransport(const v1::GetStatusResponse& status, Table& table) {
  const v1::TlsStatus& tls = status.tls();
  if (status.has_tls()) {
    Add({.kind = "certificate",
         .state = tls.error().empty() ? "in force" : "newest refused",
         .value = Rfc3339(tls.has_certificate_expires_at(), tls.certificate_expires_at()),
         .detail = tls.error()},
        table);
  }
  const v1::AccessStatus& access = status.access();
  Add({.kind = "access", .state = status.has_access() ? "on" : "off"}, table);
  for (const std::string& warning : status.warnings()) {
    Add({.kind = "warning", .detail = warning}, table);
  }
  if (!access.token_file().empty()) {
    Add({.kind = "tokens",
         .name = access.token_file(),
         .state = access.error().empty() ? "in force" : "newest refused",
         .value = absl::StrCat(access.tokens()),
         .detail = access.error()},
        table);
  }
  const v1::ConnectionStatus& connections = status.connections();
  Add({.kind = "connections", .value = absl::StrCat(connections.open())}, table);
  Add({.kind = "connections_refused", .value = absl::StrCat(connections.refused())}, table);
  Add({.kind = "connections_failed", .value = absl::StrCat(connections.failed())}, table);
}

void AddMeasured(const v1::TargetStatus& target, Table& table) {
  for (const v1::ServerStatus& server : target.servers()) {
    Add({.kind = "postgres",
         .target = target.name(),
         .name = server.name(),
         .state = server.has_set_aside_until() ? "set aside"
                  : server.reachable()         ? "reachable"
                                               : "unreachable",
         .age_s = Seconds(server.has_sample_age(), server.sample_age()),
         .detail = server.error().empty() ? server.note() : server.error()},
        table);
  }
  for (const v1::SignalStatus& signal : target.signals()) {
    Add({.kind = "signal",
         .target = target.name(),
         .name = signal.name(),
         .value = signal.has_value() ? ExactNumber(signal.value()) : "",
         .age_s = Seconds(signal.has_age(), signal.age()),
         .detail = signal.error()},
        table);
  }
}

void AddDerived(const v1::TargetStatus& target, Table& table) {
  for (const v1::Health& health : target.profiles()) {
    Add({.kind = "health",
         .target = target.name(),
         .name = health.profile(),
         .state = Word(health.condition()),
         .speed = ExactNumber(health.speed()),
         .pressure = ExactNumber(health.pressure()),
         .age_s = Seconds(health.has_sample_age(), health.sample_age()),
         .detail = health.signal()},
        table);
  }
  for (const v1::ControllerStatus& controller : target.controllers()) {
    Add({.kind = "controller",
         .target = target.name(),
         .name = controller.budget(),
         .state = controller.phase(),
         .value = ExactNumber(controller.rate()),
         .detail = controller.explanation()},
        table);
  }
}

void AddLeases(const v1::TargetStatus& target, Table& table) {
  if (!target.has_leases()) return;
  const v1::LeasesStatus& leases = target.leases();
  const auto number = [&](const char* kind, const std::string& value) {
    Add({.kind = kind, .target = target.name(), .value = value}, table);
  };
  number("leases", absl::StrCat(leases.leases()));
  number("lease_holders", absl::StrCat(leases.holders()));
  number("lease_amount", ExactNumber(leases.amount()));
  number("leases_overdue", absl::StrCat(leases.overdue()));
  for (const v1::LeaseHolder& holder : leases.most()) {
    Add({.kind = "lease_holder",
         .target = target.name(),
         .name = holder.identity(),
         .state = absl::StrCat(holder.leases(), " held, ", holder.overdue(), " overdue"),
         .value = ExactNumber(holder.amount())},
        table);
  }
}

void AddAgent(const v1::TargetStatus& target, Table& table) {
  if (!target.has_agent()) return;
  const v1::AgentState& state = target.agent().state();
  Add({.kind = "agent",
       .target = target.name(),
       .name = target.agent().peer(),
       .state = state.yields() ? "yields" : "does not yield",
       .value = absl::StrCat(state.yielding()),
       .age_s = Seconds(target.agent().has_told_ago(), target.agent().told_ago()),
       .detail = state.means()},
      table);
  const auto number = [&](const char* kind, const std::string& value) {
    Add({.kind = kind, .target = target.name(), .value = value}, table);
  };
  number("raised_sessions", absl::StrCat(state.raised()));
  number("session_raises", absl::StrCat(state.raises()));
  number("yielding_processor_s", ExactNumber(state.processor_seconds()));
  const auto work = [&](const char* what, double seconds) {
    Add({.kind = "yielding_work_s",
         .target = target.name(),
         .name = what,
         .value = ExactNumber(seconds)},
        table);
  };
  work("processor", state.work().processor());
  work("disk", state.work().disk());
  work("locks", state.work().locks());
  work("standbys", state.work().standbys());
  work("other", state.work().other());
  for (const v1::AgentSession& session : state.yielding_sessions()) {
    Add({.kind = "session",
         .target = target.name(),
         .name = absl::StrCat(session.pid()),
         .state = "yields",
         .detail = SessionText(session)},
        table);
  }
  for (const v1::RaisedSession& raised : state.raised_sessions()) {
    Add({.kind = "session",
         .target = target.name(),
         .name = absl::StrCat(raised.session().pid()),
         .state = "raised",
         .detail = absl::StrCat(SessionText(raised.session()), ", ", RaisedForText(raised))},
        table);
  }
}

void AddServers(const v1::ClusterStatus& cluster, Table& table) {
  for (const v1::MemberStatus& member : cluster.members()) {
    Add({.kind = "server",
         .name = member.name(),
         .state = !member.is_here()     ? "gone"
                  : member.is_leaving() ? "leaving"
                  : member.is_drained() ? "drained"
                                        : "here",
         .value = absl::StrCat(member.targets()),
         .age_s = Seconds(member.has_seen_ago(), member.seen_ago()),
         .detail = member.error()},
        table);
  }
  for (const v1::TargetOwner& target : cluster.targets()) {
    Add({.kind = "owner",
         .target = target.target(),
         .name = target.owner(),
         .value = absl::StrCat(target.generation()),
         .detail = target.preferred()},
        table);
  }
  if (!cluster.store_note().empty()) {
    Add({.kind = "store_note", .detail = cluster.store_note()}, table);
  }
  if (cluster.store_error().empty()) return;
  Add({.kind = "store_error", .detail = cluster.store_error()}, table);
}

}  // namespace

Table StatusCsv(const v1::GetStatusResponse& status) {
  Table table(Titles("kind,target,name,state,value,speed,pressure,age_s,detail"));
  Add({.kind = "version", .value = status.version()}, table);
  Add({.kind = "permits_outstanding", .value = absl::StrCat(status.permits_outstanding())}, table);
  Add({.kind = "buckets_owing", .value = absl::StrCat(status.buckets_owing())}, table);
  Add({.kind = "buckets_capacity", .value = absl::StrCat(status.buckets_capacity())}, table);
  Add({.kind = "live_evictions", .value = absl::StrCat(status.live_evictions())}, table);
  AddPermits(status, table);
  AddWaiting(status, table);
  AddThrottleLog(status.throttle_log(), table);
  AddOverrides(status, table);
  AddSnapshot(status, table);
  AddTransport(status, table);
  AddConfig(status.config(), table);
  AddServers(status.cluster(), table);
  for (const v1::TargetStatus& target : status.targets()) {
    AddMeasured(target, table);
    AddDerived(target, table);
    AddLeases(target, table);
    AddAgent(target, table);
  }
  return table;
}

}  // namespace headgate::cli
