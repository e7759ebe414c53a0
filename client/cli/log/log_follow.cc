#include "client/cli/log/log_follow.h"

#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/cli/log/denial_text.h"
#include "client/cli/log/log_csv.h"
#include "client/cli/output/proto_text.h"

namespace headgate::cli {
namespace {

// Nobody reads faster than this, and each round costs the server an answer.
constexpr absl::Duration kShortestPause = absl::Milliseconds(50);

void Drain(int fd) {
  uint64_t count = 0;
  while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

}  // namespace

LogFollow::LogFollow(Connection& connection, const SignalInbox& signals, const Console& console,
                     const Options& options)
    : connection_(connection),
      signals_(signals),
      console_(console),
      options_(options),
      done_(eventfd(0, EFD_CLOEXEC)) {}

int LogFollow::Run() {
  int exit_status = ToInt(ExitStatus::kOk);
  for (;;) {
    Answer answer = absl::UnknownError("not asked");
    std::optional<int> signal = Ask(answer);
    if (!signal) {
      if (!Handle(answer, exit_status)) return exit_status;
      if (!restarted_ || away_) signal = signals_.WaitFor(-1, Pause());
    }
    // Ctrl-C is the usual way to leave, and no failure.
    if (signal) return *signal == SIGINT && answered_ ? 0 : 128 + *signal;
  }
}

// A signal cancels the call, so that a server that does not answer holds nobody up.
std::optional<int> LogFollow::Ask(Answer& answer) {
  grpc::ClientContext context;
  SetDeadline(context, connection_.timeout());
  const v1::ListDenialsRequest request = NextRequest();
  v1::ListDenialsResponse response;
  grpc::Status result;
  const auto stub = v1::ThrottleLogService::NewStub(connection_.channel());
  stub->async()->ListDenials(
      &context, &request, &response, [&result, fd = done_.number()](const grpc::Status& status) {
        result = status;
        const uint64_t one = 1;  // once this is written all of it may be gone
        while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR) {
        }
      });
  const std::optional<int> signal = signals_.WaitFor(done_.number());
  if (signal) context.TryCancel();
  Drain(done_.number());
  if (result.ok()) {
    answer = std::move(response);
  } else {
    answer = connection_.ToStatus(result);
  }
  return signal;
}

v1::ListDenialsRequest LogFollow::NextRequest() const {
  v1::ListDenialsRequest request;
  if (!answered_ || only_own_) request.set_identity(options_.filter.identity());
  request.set_page_size(kDenialsPerPage);
  if (!restarted_) request.set_after(std::max<int64_t>(newest_number_ - 1, 0));
  return request;
}

bool LogFollow::Handle(const Answer& answer, int& exit_status) {
  if (answer.ok()) {
    Show(*answer);
    answered_ = true;
    away_ = false;
    token_retry_.Reset();
    console_.out.flush();
    if (!console_.out.good()) exit_status = ToInt(ExitStatus::kFailed);
    return console_.out.good();
  }
  const absl::Status& status = answer.status();
  if (absl::IsPermissionDenied(status) && MayNarrow()) {
    console_.Complain("others' denials are not for this caller: what is missing is not counted");
    only_own_ = true;
    counting_ = false;
    pause_ = options_.interval;
    return true;
  }
  if (!answered_ || IsFinal(status)) {
    exit_status = ToInt(console_.Fail(status));
    return false;
  }
  if (!away_) console_.Complain(std::string(status.message()) + "; trying on");
  away_ = true;
  return true;
}

// Whether the newest question was about everybody, and can be asked about one identity.
bool LogFollow::MayNarrow() const {
  return answered_ && !only_own_ && !options_.filter.identity().empty();
}

// Whether asking again is in vain. Most failures are not final: once a question has been answered,
// it is the server that fails, and it may come back.
bool LogFollow::IsFinal(const absl::Status& status) {
  if (absl::IsUnauthenticated(status)) return !token_retry_.OnRefused();
  token_retry_.Reset();
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status) ||
         absl::IsUnimplemented(status);
}

absl::Duration LogFollow::Pause() const {
  if (!away_) return pause_;
  return std::max({pause_, options_.interval, kShortestPause, token_retry_.pause()});
}

// Denials come the newest first.
void LogFollow::Show(const v1::ListDenialsResponse& answer) {
  const auto& denials = answer.denials();
  const bool has_newest =
      !denials.empty() && denials.rbegin()->number() == newest_number_ && !restarted_;
  if (newest_number_ > 0 && !restarted_) {
    restarted_ = denials.empty() || (has_newest && FromProto(denials.rbegin()->at()) != newest_at_);
    if (restarted_) return;  // ask again, from its beginning
  }
  if (counting_) {
    TellMissed(answer, restarted_ ? 0 : newest_number_);
  } else if (!only_own_) {
    // Denials before the first answer are not missing. To begin to count, the next question is
    // about everybody's denials, and comes at once.
    counting_ = answered_ || options_.filter.identity().empty();
    pause_ = counting_ ? options_.interval : absl::ZeroDuration();
  }
  v1::ListDenialsResponse fresh;
  for (auto denial = denials.rbegin(); denial != denials.rend(); ++denial) {
    const bool seen =
        restarted_ ? FromProto(denial->at()) <= newest_at_ : denial->number() <= newest_number_;
    if (!seen && Matches(*denial, options_.filter)) *fresh.add_denials() = *denial;
  }
  if (!answered_ && fresh.denials_size() > options_.first) {
    fresh.mutable_denials()->DeleteSubrange(0, fresh.denials_size() - options_.first);
  }
  newest_number_ = denials.empty() ? 0 : denials[0].number();
  if (!denials.empty()) newest_at_ = FromProto(denials[0].at());
  restarted_ = false;
  Print(fresh);
}

void LogFollow::TellMissed(const v1::ListDenialsResponse& answer, int64_t seen) {
  const auto& denials = answer.denials();
  const int64_t happened = denials.empty() ? 0 : denials[0].number() - seen;
  const auto told = std::count_if(denials.begin(), denials.end(),
                                  [seen](const auto& denial) { return denial.number() > seen; });
  if (happened > told) {
    console_.Complain(absl::StrCat(
        happened - told, happened - told == 1 ? " denial is" : " denials are",
        " missing here, whoever's: more at once than the server keeps, or than an answer holds"));
  }
  // At the present rate of denials half a page comes in this pause.
  pause_ = pause_ * (kDenialsPerPage / 2.0) / static_cast<double>(std::max<int64_t>(happened, 1));
  pause_ = std::clamp(pause_, std::min(options_.interval, kShortestPause), options_.interval);
}

void LogFollow::Print(const v1::ListDenialsResponse& oldest_first) {
  if (console_.format == Format::kCsv) {
    const std::string text = DenialsCsv(oldest_first).Csv();
    console_.out << (titled_ ? text.substr(text.find('\n') + 1) : text);
    titled_ = true;
    return;
  }
  for (const v1::Denial& denial : oldest_first.denials()) {
    console_.out << (console_.format == Format::kJson
                         ? JsonLine(denial)
                         : DenialLine(denial, options_.zone, console_.colours))
                 << '\n';
  }
}

}  // namespace headgate::cli
