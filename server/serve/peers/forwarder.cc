#include "server/serve/peers/forwarder.h"

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/serve/peers/local_wait.h"
#include "server/serve/peers/report_poll.h"
#include "server/serve/rpc/hold_time.h"
#include "server/serve/transport/error_status.h"

namespace headgate::peers {
namespace {

constexpr int kTickMs = 20;
constexpr int64_t kTicksBetweenRefreshes = 25;
// Whose server does not answer is not waited for any longer, by those who ask all servers.
constexpr int64_t kLongestHoldForOneNs = 1'000'000'000;
// None that is valid has as many bytes.
constexpr size_t kMaxCheckBytes = size_t{64} << 10;

grpc::Status NoOwner() {
  return transport::Failure(absl::StatusCode::kUnavailable, "NO_OWNER",
                            "no server decides for this target at the moment");
}

grpc::Status NoRoom() {
  return transport::Overloaded("TOO_MANY_FORWARDED",
                               "too many calls are on their way to other servers");
}

bool MayWait(const headgate::v1::CheckRequest& check) { return check.has_max_wait(); }

bool HasGroup(const google::protobuf::Message& message) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).type() == google::protobuf::UnknownField::TYPE_GROUP) return true;
  }
  return false;
}

// What a newer API may have added goes along. Groups, which none has, may be nested so deep that
// the owner cannot read them within one message more; and what it cannot read ends the connection
// that all share.
void DropGroups(headgate::v1::CheckRequest& check) {
  if (HasGroup(check) || HasGroup(check.max_wait())) [[unlikely]]
    check.DiscardUnknownFields();
}

void SetTimeLeft(int64_t left_ns, ForwardedCall& call) {
  left_ns = std::max<int64_t>(left_ns, 0);
  call.mutable_time_left()->set_seconds(left_ns / 1'000'000'000);
  call.mutable_time_left()->set_nanos(static_cast<int32_t>(left_ns % 1'000'000'000));
}

ForwardedCall CallOf(const rpc::RemoteDecider::Caller& caller) {
  ForwardedCall call;
  call.set_caller(caller.name.data(), caller.name.size());
  call.set_peer(caller.peer);
  return call;
}

// Ignores what becomes of a parked call: nothing depends on whether a report's answer arrived.
class NullParkListener final : public transport::ParkListener {
 public:
  void OnGone() override {}
  void OnAnswered(bool /*delivered*/) override {}
};

}  // namespace

grpc::Status OwnerIsChanging() {
  return transport::Failure(absl::StatusCode::kUnavailable, "OWNER_CHANGES",
                            "nobody knows these permits now, and targets are changing owners: "
                            "report again");
}

// Goes off fifty times a second, on the loop.
class Forwarder::Ticks final : public transport::Route, public transport::Event {
 public:
  Ticks(Forwarder& forwarder, transport::ServingLoop& loop) : forwarder_(forwarder), loop_(loop) {
    Set();
  }
  ~Ticks() override { forwarder_.EndLoop(); }

  void Done(bool ok, size_t /*thread*/) override {
    if (!ok || draining_.load(std::memory_order_relaxed)) return;
    forwarder_.Tick();
    Set();
  }
  void Drain(size_t /*thread*/) override {
    draining_.store(true, std::memory_order_relaxed);  // relaxed: one tick more does no harm
    alarm_.Cancel();
    forwarder_.EndLoop();
  }

 private:
  void Set() {
    loop_.WhileQueueIsOpen([this] {
      alarm_.Set(&loop_.queue(), gpr_time_from_millis(kTickMs, GPR_TIMESPAN),
                 static_cast<transport::Event*>(this));
    });
  }

  Forwarder& forwarder_;
  transport::ServingLoop& loop_;
  std::atomic<bool> draining_ = false;
  grpc::Alarm alarm_;
};

void Forwarder::Use(const rpc::Api& api) {
  const MutexLock lock(&here_mutex_);
  here_ = std::make_unique<Decider>(api);
}

void Forwarder::Open(transport::ServingLoop& loop) {
  {
    const MutexLock lock(&mutex_);
    if (loop_ != nullptr) return;
    loop_ = &loop;
  }
  options_.connections.OpenStreams({.loop = loop, .clock = options_.clock, .listener = *this});
  loop.Own(std::make_unique<Ticks>(*this, loop));
}

std::optional<std::string> Forwarder::ConfiguredName(std::string_view target) const {
  const std::shared_ptr<const engine::Policy> policy = options_.engine.policy();
  uint32_t place = 0;
  if (policy == nullptr || !policy->ResolveTarget(target, place).ok()) return std::nullopt;
  return policy->target_specs[place].name;
}

std::optional<std::string> Forwarder::NameOf(std::string_view target) const {
  std::optional<std::string> name = ConfiguredName(target);
  if (name.has_value()) return name;
  const cluster::Owner owner = options_.owners.OwnerOf(target, options_.clock.Read());
  const bool is_known = owner.kind != cluster::Owner::Kind::kNobody || owner.generation > 0;
  return is_known ? std::optional(std::string(target)) : std::nullopt;
}

bool Forwarder::DecidesHere(std::string_view target) {
  const std::shared_ptr<const engine::Policy> policy = options_.engine.policy();
  uint32_t place = 0;
  if (policy == nullptr || !policy->ResolveTarget(target, place).ok()) {
    return !NameOf(target).has_value();
  }
  return options_.owners.OwnerOf(policy->target_specs[place].name, options_.clock.Read()).kind ==
         cluster::Owner::Kind::kSelf;
}

std::string Forwarder::OwnerHint(std::string_view target) {
  const std::optional<std::string> name = NameOf(target);
  return name.has_value() ? HintFor(*name, target) : "";
}

grpc::Status Forwarder::Check(const headgate::v1::CheckRequest& check, const Caller& caller,
                              transport::Parking<headgate::v1::CheckResponse>& parking) {
  std::optional<std::string> name = NameOf(check.target());
  if (!name.has_value()) return NoOwner();  // the configuration has changed just now
  ForwardedCall call = CallOf(caller);
  *call.mutable_check() = check;
  DropGroups(*call.mutable_check());
  if (check.ByteSizeLong() > kMaxCheckBytes) [[unlikely]] {
    call.mutable_check()->DiscardUnknownFields();
    if (call.check().ByteSizeLong() > kMaxCheckBytes) {
      return transport::FieldError("", "the Check has more bytes than any valid one");
    }
  }
  if (const std::string hint = HintFor(*name, check.target()); !hint.empty()) {
    parking.AddMetadata(kOwnerKey, hint);
  }
  return Forward({.target = *std::move(name)}, MayWait(check), std::move(call), parking);
}

grpc::Status Forwarder::BatchCheck(const headgate::v1::BatchCheckRequest& batch,
                                   const Caller& caller,
                                   transport::Parking<headgate::v1::BatchCheckResponse>& parking) {
  const std::string& target = batch.checks(0).target();
  std::optional<std::string> name = NameOf(target);
  if (!name.has_value()) return NoOwner();
  if (const std::string hint = HintFor(*name, target); !hint.empty()) {
    parking.AddMetadata(kOwnerKey, hint);
  }
  ForwardedCall call = CallOf(caller);
  *call.mutable_batch() = batch;
  if (HasGroup(batch)) call.mutable_batch()->DiscardUnknownFields();
  for (auto& check : *call.mutable_batch()->mutable_checks()) DropGroups(check);
  const bool waits = std::any_of(batch.checks().begin(), batch.checks().end(), MayWait);
  return Forward({.target = *std::move(name)}, waits, std::move(call), parking);
}

grpc::Status Forwarder::Report(const headgate::v1::ReportRequest& reports, const Caller& caller,
                               transport::Parking<headgate::v1::ReportResponse>& parking) {
  const std::vector<std::string> others = options_.connections.Addresses();
  const bool may_be_known_soon = !AllAreSettled();
  if (others.empty() && may_be_known_soon) return OwnerIsChanging();
  if (others.empty()) {
    headgate::v1::ReportResponse nothing;
    for (const auto& report : reports.reports()) {
      headgate::v1::Error& error = *nothing.add_results()->mutable_error();
      error.set_code(grpc::StatusCode::NOT_FOUND);
      error.set_message(
          absl::StrCat("permit_id: ", report.permit_id(), " was not issued by any server"));
    }
    auto parked = parking.Park(std::make_shared<NullParkListener>());
    if (parked != nullptr) (void)parked->Answer(grpc::Status(), nothing);
    return parked == nullptr ? NoRoom() : grpc::Status();
  }
  auto parked = parking.Park(std::make_shared<NullParkListener>());
  if (parked == nullptr) return NoRoom();
  const auto poll = std::make_shared<ReportPoll>(
      std::move(parked), others.size(), may_be_known_soon ? OwnerIsChanging() : grpc::Status());
  ForwardedCall call = CallOf(caller);
  *call.mutable_report() = reports;
  call.mutable_report()->DiscardUnknownFields();
  for (const std::string& address : others) {
    ReportPoll::Parking part(poll);
    const grpc::Status forwarded = Forward({.address = address}, false, call, part);
    if (forwarded.ok()) continue;
    headgate::v1::ReportResponse nothing;
    (void)part.Park(nullptr)->Answer(forwarded, nothing);
  }
  return grpc::Status();
}

template <typename Response>
grpc::Status Forwarder::Forward(Destination to, bool waits, ForwardedCall request,
                                transport::Parking<Response>& parking) {
  if (taken_.load(std::memory_order_relaxed) > kMaxForwardedBytes) [[unlikely]]
    return NoRoom();
  const bool to_one = !to.address.empty();
  auto call =
      std::make_shared<OutgoingCallOf<Response>>(std::move(to), waits, std::move(request), taken_);
  if (!call->Park(parking)) return NoRoom();
  const int64_t now_ns = options_.clock.Read().monotonic_ns;
  const int64_t left_ns = call->time_left_ns();
  const absl::Duration hold = left_ns == INT64_MAX
                                  ? options_.longest_hold
                                  : rpc::HoldTimeWithin(absl::Nanoseconds(left_ns));
  int64_t until_ns = now_ns + absl::ToInt64Nanoseconds(hold);
  if (to_one) until_ns = std::min(until_ns, now_ns + kLongestHoldForOneNs);
  call->SetUntil(until_ns);
  if (left_ns == INT64_MAX) call->SetEndless();
  if (options_.approximation != nullptr && !to_one) call->SetListener(this);
  if (!Route(call) && !DecideApproximately(call)) Hold(std::move(call));
  return grpc::Status();
}

std::string Forwarder::HintFor(const std::string& name, std::string_view target) const {
  const cluster::Owner owner = options_.owners.OwnerOf(name, options_.clock.Read());
  std::string hint = absl::StrCat(owner.address, " ", Sv(target));
  const auto may_be_sent = [](unsigned char c) { return absl::ascii_isprint(c); };
  if (owner.address.empty() || !std::all_of(hint.begin(), hint.end(), may_be_sent)) return {};
  return hint;
}

bool Forwarder::Route(const std::shared_ptr<OutgoingCall>& call) {
  std::string address = call->to().address;
  const cluster::DecisionScope scope(decisions());
  const Now now = options_.clock.Read();
  if (address.empty()) {
    cluster::Owner owner = options_.owners.OwnerOf(call->to().target, now);
    if (owner.kind == cluster::Owner::Kind::kSelf) {
      // The configuration has lost it just now, and this server is about to give it away.
      if (!ConfiguredName(call->to().target).has_value()) return false;
      DecideHere(call);
      return true;
    }
    if (owner.kind == cluster::Owner::Kind::kNobody) return false;
    address = std::move(owner.address);
  }
  const std::shared_ptr<ForwardStream> stream = StreamTo(address);
  if (stream == nullptr) return false;
  if (call->waits() && !call->endless()) {
    SetTimeLeft(call->until_ns() - now.monotonic_ns, call->request);
  }
  return stream->Send(call);
}

void Forwarder::DecideHere(const std::shared_ptr<OutgoingCall>& call) {
  LocalParking parking(
      call, call->endless() ? INT64_MAX : call->until_ns() - options_.clock.Read().monotonic_ns);
  ForwardedAnswer answer;
  bool decided = false;
  {
    const MutexLock lock(&here_mutex_);
    decided = here_->Decide(call->request, answer, parking);
  }
  if (decided) call->Take(answer);
}

void Forwarder::Hold(std::shared_ptr<OutgoingCall> call) {
  {
    const MutexLock lock(&mutex_);
    if (MayHold()) {
      held_.push_back(std::move(call));
      return;
    }
  }
  call->Fail(transport::ShuttingDown());
}

void Forwarder::OnReturned(Calls calls) {
  returned_.fetch_add(static_cast<int64_t>(calls.size()), std::memory_order_relaxed);
  for (std::shared_ptr<OutgoingCall>& call : calls) {
    if (!DecideApproximately(call)) Hold(std::move(call));
  }
}

void Forwarder::RouteHeld() {
  Held held;
  {
    const MutexLock lock(&mutex_);
    held.swap(held_);
  }
  if (held.empty()) return;
  const int64_t now_ns = options_.clock.Read().monotonic_ns;
  Held left;
  for (std::shared_ptr<OutgoingCall>& call : held) {
    if (call->gone()) continue;
    if (call->until_ns() <= now_ns) {
      call->Fail(NoOwner());
    } else if (!Route(call) && !DecideApproximately(call)) {
      left.push_back(std::move(call));
    }
  }
  {
    const MutexLock lock(&mutex_);
    if (MayHold()) {
      // Before those that came meanwhile.
      held_.insert(held_.begin(), std::make_move_iterator(left.begin()),
                   std::make_move_iterator(left.end()));
      return;
    }
  }
  // Closed meanwhile, which did not see these: nobody would look for them any more.
  for (const auto& call : left) call->Fail(transport::ShuttingDown());
}

std::shared_ptr<ForwardStream> Forwarder::StreamTo(const std::string& address) {
  {
    const MutexLock lock(&mutex_);
    if (!MayHold()) return nullptr;
  }
  return options_.connections.StreamTo(address);
}

void Forwarder::Tick() {
  // Nobody who hands a target over, or asks for one that was, waits for a handshake.
  if (++ticks_ % kTicksBetweenRefreshes == 1) Refresh();
  for (const auto& stream : options_.connections.Streams()) stream->OnTick();
  RouteHeld();
}

bool Forwarder::MayHold() const { return loop_ != nullptr && !closed_; }

void Forwarder::Close() {
  Held held;
  {
    const MutexLock lock(&mutex_);
    closed_ = true;
    held.swap(held_);
  }
  for (const auto& call : held) call->Fail(transport::ShuttingDown());
  for (const auto& stream : options_.connections.Streams()) stream->EndWaiting();
}

void Forwarder::EndLoop() {
  Held held;
  {
    const MutexLock lock(&mutex_);
    loop_ = nullptr;
    held.swap(held_);
  }
  options_.connections.CloseStreams();
  for (const auto& call : held) call->Fail(transport::ShuttingDown());
}

void Forwarder::Tell(const std::string& address, const peer::v1::GivenTarget& given) {
  if (const std::shared_ptr<ForwardStream> stream = StreamTo(address); stream != nullptr)
    stream->Tell(given);
}

size_t Forwarder::held() const {
  const MutexLock lock(&mutex_);
  return held_.size();
}

}  // namespace headgate::peers
