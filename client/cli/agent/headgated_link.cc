#include "client/cli/agent/headgated_link.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/server_address.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/terminal_text.h"
#include "common/random_seed.h"

namespace headgate::cli {
namespace {

constexpr int64_t kEachMs = 500;
constexpr int64_t kFirstPauseMs = 250;
constexpr int64_t kLongestPauseMs = 2000;
constexpr int64_t kStopMs = 300;
constexpr absl::Duration kAnswerLimit = absl::Seconds(2);

// None where the system has no randomness: each stream is an agent of its own then.
std::string DrawName() {
  const absl::StatusOr<uint64_t> drawn = RandomSeed();
  return drawn.ok() ? absl::StrCat(absl::Hex(*drawn, absl::kZeroPad16)) : "";
}

void Fill(const agent::NamedSession& from, v1::AgentSession& to) {
  to.set_pid(from.pid);
  to.set_role(from.role);
  to.set_application_name(from.application_name);
}

void Fill(const agent::WorkSeconds& from, v1::WorkSeconds& to) {
  to.set_processor(from.processor);
  to.set_disk(from.disk);
  to.set_locks(from.locks);
  to.set_standbys(from.standbys);
  to.set_other(from.other);
}

v1::WatchRequest RequestOf(const agent::AgentReport& report, const std::string& target,
                           const std::string& agent) {
  v1::WatchRequest request;
  request.set_target(target);
  request.set_agent(agent);
  v1::AgentState& state = *request.mutable_state();
  state.set_yields(report.yields);
  state.set_means(report.means);
  state.set_yielding(static_cast<int64_t>(report.yielding));
  state.set_raised(static_cast<int64_t>(report.raised));
  state.set_raises(report.counted.raises);
  Fill(report.counted.work, *state.mutable_work());
  Fill(report.counted.recent_work, *state.mutable_recent_work());
  state.set_processor_seconds(report.processor_seconds);
  for (const agent::NamedSession& session : report.yielding_sessions) {
    Fill(session, *state.add_yielding_sessions());
  }
  for (const agent::AgentReport::Raised& raised : report.raised_sessions) {
    v1::RaisedSession& to = *state.add_raised_sessions();
    Fill(raised.session, *to.mutable_session());
    if (raised.waiter.has_value()) Fill(*raised.waiter, *to.mutable_waiter());
  }
  return request;
}

}  // namespace

HeadgatedLink::HeadgatedLink(const Globals& globals, Clock& clock)
    : globals_(globals), clock_(clock), agent_(DrawName()) {}

HeadgatedLink::~HeadgatedLink() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    // A stream is ended in good order, unless the server does not answer.
    if (thread_.joinable()) {
      changed_.wait_for(lock, std::chrono::milliseconds(kStopMs), [this] { return stopped_; });
    }
    if (stream_ != nullptr) stream_->Cancel();
  }
  if (thread_.joinable()) thread_.join();
}

void HeadgatedLink::Tell(const agent::AgentReport& report) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    news_ = {.report = report, .told_ns = clock_.Read().monotonic_ns, .number = news_.number + 1};
    silent_ = false;
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void HeadgatedLink::FallSilent() {
  const std::lock_guard<std::mutex> lock(mutex_);
  silent_ = true;
  changed_.notify_all();
}

std::vector<std::string> HeadgatedLink::TakeLines() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(lines_, {});
}

std::optional<agent::BatchWork> HeadgatedLink::batch_work() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return batch_work_;
}

void HeadgatedLink::Run() {
  int64_t pause_ms = kFirstPauseMs;
  for (;;) {
    const bool is_owner = !owner_.empty();
    const std::string address = is_owner ? owner_ : WithPort(globals_.address);
    bool answered = false;
    const grpc::Status ended = TellAll(address, answered);
    if (ended.ok()) {
      if (!AwaitNews()) break;
      continue;
    }
    if (answered) pause_ms = kFirstPauseMs;
    // Whoever was named just now is asked at once.
    if (!is_owner && !owner_.empty()) continue;
    SayTrouble(address, ended);
    if (Pause(pause_ms)) break;
    pause_ms = std::min(2 * pause_ms, kLongestPauseMs);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

grpc::Status HeadgatedLink::TellAll(const std::string& address, bool& answered) {
  std::shared_ptr<grpc::Channel> channel = ChannelTo(address);
  auto stream = std::make_unique<AgentStream>(channel, kAnswerLimit);
  Show(stream.get());
  owner_.clear();
  grpc::Status status;
  v1::WatchResponse response;
  for (uint64_t sent = 0; status.ok();) {
    const std::optional<News> news = Next(sent);
    if (!news.has_value()) break;
    sent = news->number;
    // A server that wants a connection to end takes no new calls on it.
    std::unique_ptr<AgentStream> before;
    const std::shared_ptr<grpc::Channel> newest = ChannelTo(address);
    if (answered && (newest != channel || channel->GetState(false) != GRPC_CHANNEL_READY)) {
      before = std::exchange(stream, std::make_unique<AgentStream>(newest, kAnswerLimit));
      channel = newest;
      Show(stream.get());
    }
    status = stream->Tell(RequestOf(news->report, globals_.target, agent_), response);
    if (status.ok()) TakeOrders(response);
    if (!status.ok() || std::exchange(answered, true)) continue;
    trouble_.clear();
    Say(absl::StrCat("headgated at ", address, " is told which sessions yield"));
  }
  if (!status.ok()) owner_ = stream->owner_address();
  stream->Close();
  Show(nullptr);
  return status;
}

void HeadgatedLink::Show(AgentStream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stream_ = stream;
}

void HeadgatedLink::TakeOrders(const v1::WatchResponse& response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  batch_work_ = {.roles = {response.batch_roles().begin(), response.batch_roles().end()},
                 .application_names = {response.batch_application_names().begin(),
                                       response.batch_application_names().end()}};
}

std::optional<HeadgatedLink::News> HeadgatedLink::Next(uint64_t sent) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, std::chrono::milliseconds(kEachMs),
                      [&] { return stopping_ || silent_ || news_.number != sent; });
    if (stopping_ || silent_) return std::nullopt;
    const int64_t age_ns = clock_.Read().monotonic_ns - news_.told_ns;
    const bool is_old = age_ns > absl::ToInt64Nanoseconds(kToldAgainWithin);
    if (news_.number != 0 && !(news_.report.yields && is_old)) return news_;
  }
}

std::shared_ptr<grpc::Channel> HeadgatedLink::ChannelTo(const std::string& address) {
  if (channels_ == nullptr || channels_to_ != address) {
    Globals globals = globals_;
    globals.address = address;
    channels_ = OpenChannels(globals);
    channels_to_ = address;
  }
  return channels_ == nullptr ? Connection(globals_).channel() : channels_->Get();
}

void HeadgatedLink::SayTrouble(const std::string& address, const grpc::Status& status) {
  absl::Status error(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (status.error_details().empty()) error = DescribeUnreachable(error, address, kAnswerLimit);
  const std::string trouble =
      absl::StrCat("headgated at ", address,
                   " is not told: ", Squeezed({error.message().data(), error.message().size()}));
  if (std::exchange(trouble_, trouble) != trouble) Say(trouble);
}

void HeadgatedLink::Say(const std::string& line) {
  constexpr size_t kMostLines = 100;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (lines_.size() < kMostLines) lines_.push_back(line);
}

bool HeadgatedLink::AwaitNews() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !silent_; });
  return !stopping_;
}

bool HeadgatedLink::Pause(int64_t ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stopping_; });
}

}  // namespace headgate::cli
