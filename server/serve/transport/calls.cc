#include "server/serve/transport/calls.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "server/serve/transport/call_origin.h"

namespace headgate::transport {
namespace {

// Beyond it the log tells that a call was slow. Decisions take microseconds.
constexpr absl::Duration kSlow = absl::Milliseconds(500);
constexpr size_t kMaxIdBytes = 128;

bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }

std::optional<std::string> IdOfCaller(const CallContext& call) {
  const std::string_view id = call.RequestId();
  if (id.empty() || id.size() > kMaxIdBytes || !std::all_of(id.begin(), id.end(), IsVisible)) {
    return std::nullopt;
  }
  return std::string(id);
}

}  // namespace

int64_t MethodCalls::StartTime() const {
  return std::max<int64_t>(calls_.clock_.Read().monotonic_ns, 1);  // 0 says: not timed
}

int64_t MethodCalls::AddLatency(int64_t started_ns) {
  const int64_t took_ns = calls_.clock_.Read().monotonic_ns - started_ns;
  writers_ == Writers::kOne ? latency_.Add(took_ns) : latency_.AddShared(took_ns);
  return took_ns;
}

void MethodCalls::EndRarely(CallContext& context, int64_t started_ns, const grpc::Status& status) {
  const int64_t took_ns = started_ns == 0 ? 0 : AddLatency(started_ns);
  const bool slow = took_ns > absl::ToInt64Nanoseconds(kSlow);
  if (status.ok() && !slow) return;
  const std::string id = calls_.RequestIdOf(context);
  if (!status.ok()) context.SetRequestId(id);
  const std::string peer = context.Peer();
  const CallListener::Call call{.method = method_, .request_id = id, .peer = peer};
  if (!status.ok()) calls_.listener_.OnFailed(call, status);
  if (slow) calls_.listener_.OnSlow(call, absl::Nanoseconds(took_ns));
}

void MethodCalls::EndRarely(grpc::ServerContext& context, int64_t started_ns,
                            const grpc::Status& status) {
  const Encryption encryption = IsPlaintext(context) ? Encryption::kNone : Encryption::kTls;
  if (!HasReadGuarded(encryption)) [[unlikely]] {
    const std::string peer = context.peer();
    calls_.TellUnguarded({.method = method_, .request_id = {}, .peer = peer}, encryption);
  }
  GrpcCallContext call(context);
  EndRarely(call, started_ns, status);
}

void Calls::TellUnguarded(const CallListener::Call& call, Encryption encryption) {
  if (call.peer.rfind("ipv4:", 0) != 0 && call.peer.rfind("ipv6:", 0) != 0) return;
  std::atomic<bool>& told = told_unguarded_[static_cast<size_t>(encryption)];
  if (!told.exchange(true, std::memory_order_relaxed)) listener_.OnUnguarded(call, encryption);
}

MethodCalls& Calls::AddThread(std::string_view method) {
  MutexLock lock(&mutex_);
  return methods_.emplace_back(*this, method, MethodCalls::Writers::kOne);
}

LatencyHistogram& Calls::AddDecisionThread() {
  MutexLock lock(&mutex_);
  return decisions_.emplace_back();
}

MethodCalls& Calls::Shared(std::string_view method) {
  MutexLock lock(&mutex_);
  const auto known = shared_.find(method);
  if (known != shared_.end()) return *known->second;
  MethodCalls& made = methods_.emplace_back(*this, method, MethodCalls::Writers::kMany);
  shared_.emplace(method, &made);
  return made;
}

std::string_view Calls::MethodOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

void Calls::TellChange(const CallContext& call, std::string_view method, std::string_view event,
                       CallListener::Fields fields) {
  const std::string id = RequestIdOf(call);
  const std::string peer = call.Peer();
  listener_.OnChange({.method = method, .request_id = id, .peer = peer}, event, fields);
}

std::string Calls::RequestIdOf(const CallContext& call) {
  if (std::optional<std::string> id = IdOfCaller(call); id.has_value()) return *std::move(id);
  // relaxed: numbers only have to differ.
  const uint64_t number = ids_.fetch_add(1, std::memory_order_relaxed);
  return absl::StrCat(absl::Hex(FinishHash(CombineHash(seed_, number)), absl::kZeroPad16));
}

std::map<std::string, Calls::MethodTotals> Calls::ReadMethods() const {
  std::map<std::string, MethodTotals> all;
  MutexLock lock(&mutex_);
  for (const MethodCalls& calls : methods_) {
    MethodTotals& totals = all[calls.method()];
    for (size_t code = 0; code < MethodCalls::kCodes; ++code) {
      totals.codes[code] += calls.ReadCount(code);
    }
    totals.latency.Add(calls.ReadLatency());
  }
  return all;
}

LatencyCounts Calls::ReadDecisions() const {
  LatencyCounts all;
  MutexLock lock(&mutex_);
  for (const LatencyHistogram& thread : decisions_) all.Add(thread.Read());
  return all;
}

std::string_view CodeName(size_t code) {
  static constexpr std::string_view kNames[MethodCalls::kCodes] = {"OK",
                                                                   "CANCELLED",
                                                                   "UNKNOWN",
                                                                   "INVALID_ARGUMENT",
                                                                   "DEADLINE_EXCEEDED",
                                                                   "NOT_FOUND",
                                                                   "ALREADY_EXISTS",
                                                                   "PERMISSION_DENIED",
                                                                   "RESOURCE_EXHAUSTED",
                                                                   "FAILED_PRECONDITION",
                                                                   "ABORTED",
                                                                   "OUT_OF_RANGE",
                                                                   "UNIMPLEMENTED",
                                                                   "INTERNAL",
                                                                   "UNAVAILABLE",
                                                                   "DATA_LOSS",
                                                                   "UNAUTHENTICATED"};
  return code < MethodCalls::kCodes ? kNames[code] : kNames[2];
}

}  // namespace headgate::transport
