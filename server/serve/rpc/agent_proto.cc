#include "server/serve/rpc/agent_proto.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

constexpr size_t kMaxMeansBytes = 1024;
constexpr size_t kMaxNameBytes = 128;
constexpr int kMaxSessions = 16;  // of each kind
// So that nothing overflows; no machine has as many.
constexpr int64_t kMaxCount = 1'000'000;

absl::Status TooLong(const std::string& field, size_t bytes, size_t most) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": has ", bytes, " bytes; at most ", most));
}

absl::Status CountIn(const std::string& field, int64_t count) {
  if (count >= 0 && count <= kMaxCount) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": must be 0 to ", kMaxCount, "; it is ", count));
}

absl::Status TooMany(const std::string& field, int count) {
  if (count <= kMaxSessions) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": has ", count, " sessions; at most ", kMaxSessions));
}

absl::Status ReadSession(const std::string& field, const v1::AgentSession& from,
                         agents::Session& to) {
  if (from.role().size() > kMaxNameBytes) {
    return TooLong(absl::StrCat(field, ".role"), from.role().size(), kMaxNameBytes);
  }
  if (from.application_name().size() > kMaxNameBytes) {
    return TooLong(absl::StrCat(field, ".application_name"), from.application_name().size(),
                   kMaxNameBytes);
  }
  to = {.pid = from.pid(), .role = from.role(), .application_name = from.application_name()};
  return absl::OkStatus();
}

absl::Status ReadSessions(const v1::AgentState& from, agents::AgentState& to) {
  absl::Status status;
  status.Update(TooMany("state.yielding_sessions", from.yielding_sessions_size()));
  status.Update(TooMany("state.raised_sessions", from.raised_sessions_size()));
  for (int i = 0; status.ok() && i < from.yielding_sessions_size(); ++i) {
    status = ReadSession(absl::StrCat("state.yielding_sessions[", i, "]"),
                         from.yielding_sessions(i), to.yielding_sessions.emplace_back());
  }
  for (int i = 0; status.ok() && i < from.raised_sessions_size(); ++i) {
    const v1::RaisedSession& raised = from.raised_sessions(i);
    const std::string field = absl::StrCat("state.raised_sessions[", i, "]");
    agents::RaisedSession& session = to.raised_sessions.emplace_back();
    status = ReadSession(absl::StrCat(field, ".session"), raised.session(), session.session);
    if (!status.ok() || !raised.has_waiter()) continue;
    status = ReadSession(absl::StrCat(field, ".waiter"), raised.waiter(), session.waiter.emplace());
  }
  return status;
}

absl::Status CheckSeconds(const std::string& field, double seconds) {
  if (std::isfinite(seconds) && seconds >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": must be a finite number, 0 or above"));
}

absl::Status ReadWork(const std::string& field, const v1::WorkSeconds& from,
                      agents::WorkSeconds& to) {
  to = {.processor = from.processor(),
        .disk = from.disk(),
        .locks = from.locks(),
        .standbys = from.standbys(),
        .other = from.other()};
  absl::Status status = CheckSeconds(field + ".processor", to.processor);
  status.Update(CheckSeconds(field + ".disk", to.disk));
  status.Update(CheckSeconds(field + ".locks", to.locks));
  status.Update(CheckSeconds(field + ".standbys", to.standbys));
  status.Update(CheckSeconds(field + ".other", to.other));
  return status;
}

void FillWork(const agents::WorkSeconds& from, v1::WorkSeconds& to) {
  to.set_processor(from.processor);
  to.set_disk(from.disk);
  to.set_locks(from.locks);
  to.set_standbys(from.standbys);
  to.set_other(from.other);
}

void FillSession(const agents::Session& from, v1::AgentSession& to) {
  to.set_pid(from.pid);
  to.set_role(from.role);
  to.set_application_name(from.application_name);
}

void FillState(const agents::AgentState& from, v1::AgentState& to) {
  to.set_yields(from.yielding.works);
  to.set_means(from.yielding.means);
  to.set_yielding(from.yielding.sessions);
  to.set_raised(from.yielding.raised);
  to.set_raises(from.yielding.raises);
  to.set_processor_seconds(from.yielding.processor_seconds);
  FillWork(from.work, *to.mutable_work());
  FillWork(from.recent_work, *to.mutable_recent_work());
  for (const agents::Session& session : from.yielding_sessions) {
    FillSession(session, *to.add_yielding_sessions());
  }
  for (const agents::RaisedSession& raised : from.raised_sessions) {
    v1::RaisedSession& session = *to.add_raised_sessions();
    FillSession(raised.session, *session.mutable_session());
    if (raised.waiter.has_value()) FillSession(*raised.waiter, *session.mutable_waiter());
  }
}

}  // namespace

absl::StatusOr<agents::AgentState> AgentStateOf(const v1::AgentState& from) {
  agents::AgentState to{.yielding = {.works = from.yields(),
                                     .means = from.means(),
                                     .sessions = from.yielding(),
                                     .raised = from.raised(),
                                     .processor_seconds = from.processor_seconds(),
                                     .raises = from.raises()}};
  absl::Status status;
  if (from.means().size() > kMaxMeansBytes) {
    status = TooLong("state.means", from.means().size(), kMaxMeansBytes);
  }
  status.Update(CountIn("state.yielding", from.yielding()));
  status.Update(CountIn("state.raised", from.raised()));
  status.Update(CheckSeconds("state.processor_seconds", from.processor_seconds()));
  status.Update(ReadWork("state.work", from.work(), to.work));
  status.Update(ReadWork("state.recent_work", from.recent_work(), to.recent_work));
  status.Update(ReadSessions(from, to));
  if (!status.ok()) return status;
  return to;
}

void FillAgent(const agents::AgentView& from, const Now& now, v1::AgentStatus& to) {
  to.set_peer(from.peer);
  SetDuration(std::max<int64_t>(now.monotonic_ns - from.since_ns, 0), *to.mutable_since());
  SetDuration(std::max<int64_t>(now.monotonic_ns - from.told_ns, 0), *to.mutable_told_ago());
  FillState(from.state, *to.mutable_state());
}

}  // namespace headgate::rpc
