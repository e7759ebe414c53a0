#include "client/proxy/valve.h"

#include <algorithm>
#include <array>

namespace headgate::proxy {
namespace {

// Commands that leave nothing behind which others wait for. All others count as writing. A SELECT
// that locks rows, calls what writes, or is a CREATE TABLE AS looks like any other.
constexpr std::array<std::string_view, 18> kReading = {
    "SELECT",     "SHOW",      "SET",     "RESET",    "BEGIN",   "START",
    "FETCH",      "MOVE",      "DECLARE", "CLOSE",    "PREPARE", "EXECUTE",
    "DEALLOCATE", "SAVEPOINT", "RELEASE", "ROLLBACK", "LISTEN",  "UNLISTEN"};

// The first word of a CommandComplete, as far as it was looked at.
std::string_view CommandOf(std::string_view body) {
  return body.substr(0, std::min(body.find_first_of(std::string_view(" \0", 2)), body.size()));
}

bool Writes(std::string_view command, bool is_copy_out) {
  if (command == "COPY") return !is_copy_out;
  return std::find(kReading.begin(), kReading.end(), command) == kReading.end();
}

}  // namespace

bool Valve::BeginsUnit(char type) const {
  if (units_ > 0 || has_begun_) return false;
  return type == kQuery || type == kParse || type == kBind || type == kExecute ||
         type == kDescribe || type == kClose || type == kFunctionCall;
}

bool Valve::MayHoldUnit() const {
  if (hold_ == Hold::kStatements) return true;
  return hold_ == Hold::kTransactions && status_ == TransactionStatus::kIdle;
}

bool Valve::MayHoldStream(Sender sender, char type) const {
  if (hold_ == Hold::kNothing || stream_ == Stream::kCopyBoth) return false;
  const bool is_data = type == kCopyData || (sender == Sender::kServer && type == kDataRow);
  if (!is_data) return false;
  if (sender == Sender::kClient) return stream_ == Stream::kCopyIn;
  return hold_ == Hold::kStatements || !has_written_;
}

bool Valve::MayPass(Sender sender, const Frame& frame, int64_t now_ns) {
  if (!has_started_) return true;
  const bool may_hold = sender == Sender::kClient && BeginsUnit(frame.type)
                            ? MayHoldUnit()
                            : MayHoldStream(sender, frame.type);
  if (!may_hold) return true;
  if (is_open_ && !IsSliceUsed(now_ns)) return true;
  Count(now_ns);
  is_open_ = false;
  is_held_ = true;
  return false;
}

void Valve::Open(int64_t now_ns) {
  Count(now_ns);
  is_open_ = true;
  is_held_ = false;
}

void Valve::GiveUp(int64_t now_ns) {
  Count(now_ns);
  is_held_ = false;
}

void Valve::ClientHasTheBall(bool has, int64_t now_ns) {
  Count(now_ns);
  client_has_the_ball_ = has;
}

absl::Duration Valve::TakeBusyTime(int64_t now_ns) {
  Count(now_ns);
  is_open_ = false;
  const absl::Duration busy = absl::Nanoseconds(busy_ns_);
  busy_ns_ = 0;
  return busy;
}

void Valve::Passed(Sender sender, const Frame& frame, int64_t now_ns) {
  Count(now_ns);
  if (sender == Sender::kClient) {
    PassedFromClient(frame.type);
  } else {
    PassedFromServer(frame);
  }
}

void Valve::PassedFromClient(char type) {
  if (!has_started_) return;
  switch (type) {
    case kSync:
      if (stream_ == Stream::kCopyIn) return;  // the server takes no notice of it
      [[fallthrough]];
    case kQuery:
    case kFunctionCall:
      ++units_;
      has_begun_ = false;
      return;
    case kParse:
    case kBind:
    case kExecute:
    case kDescribe:
    case kClose:
      has_begun_ = true;
      return;
    case kCopyDone:
    case kCopyFail:
      if (stream_ == Stream::kCopyIn) stream_ = Stream::kNone;
      return;
    default:
      return;
  }
}

void Valve::PassedFromServer(const Frame& frame) {
  switch (frame.type) {
    case kReadyForQuery:
      // One that nobody waits for ends a COPY that failed before its Sync was there.
      if (units_ == 0) has_begun_ = false;
      units_ = std::max(units_ - 1, 0);
      has_started_ = true;
      stream_ = Stream::kNone;
      status_ = StatusOfReady(frame.body).value_or(status_);
      if (status_ == TransactionStatus::kIdle) has_written_ = false;
      return;
    case kCopyInResponse:
      stream_ = Stream::kCopyIn;
      return;
    case kCopyOutResponse:
      stream_ = Stream::kCopyOut;
      return;
    case kCopyBothResponse:
      stream_ = Stream::kCopyBoth;
      return;
    case kErrorResponse:
      stream_ = Stream::kNone;
      return;
    case kCommandComplete:
      has_written_ |= Writes(CommandOf(frame.body), stream_ == Stream::kCopyOut);
      stream_ = Stream::kNone;
      return;
    default:
      return;
  }
}

}  // namespace headgate::proxy
