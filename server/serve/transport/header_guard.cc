#include "server/serve/transport/header_guard.h"

#include <algorithm>

namespace headgate::transport {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr uint32_t kPriorityBytes = 5;

}  // namespace

HeaderGuard::~HeaderGuard() {
  budgets_.headers.Return(of_headers_);
  budgets_.all.Return(of_all_);
}

bool HeaderGuard::Receive(std::string_view bytes) {
  const MutexLock lock(&mutex_);
  if (is_over_) return false;
  if (resets_.calls > 0) [[unlikely]]
    ForgetResets();
  if (!TakePreface(bytes)) {
    // gRPC reads no further either, and tells why.
    is_over_ = true;
    return true;
  }
  if (Walk(bytes)) return true;
  is_over_ = true;
  budgets_.CountRefused();
  return false;
}

bool HeaderGuard::TakePreface(std::string_view& bytes) {
  if (preface_ == kPreface.size()) [[likely]]
    return true;
  const std::string_view expected = kPreface.substr(preface_, bytes.size());
  if (bytes.substr(0, expected.size()) != expected) return false;
  preface_ += expected.size();
  bytes.remove_prefix(expected.size());
  return true;
}

bool HeaderGuard::Walk(std::string_view bytes) {
  while (!bytes.empty()) {
    const FrameReader::Found found = received_.Next(bytes);
    if (found == FrameReader::Found::kNothing) return true;
    const FrameHead& head = received_.head();
    if (found == FrameReader::Found::kHead && !Begin(head)) return false;
    if (block_.stream == 0) continue;
    if (found == FrameReader::Found::kPart && !Add(received_.part())) return false;
    if (received_.IsAtEnd() && !EndFrame(head)) return false;
  }
  return true;
}

// What gRPC does with frames that are out of place: it ends the connection where a block is not
// continued, or there is none to be. A block for no call at all it would not know to be one.
bool HeaderGuard::Begin(const FrameHead& head) {
  if (block_.stream != 0) {
    const bool continues = head.type == FrameHead::kContinuation && head.stream == block_.stream;
    return continues && AddFrame(head);
  }
  switch (head.type) {
    case FrameHead::kHeaders:
      return head.stream != 0 && BeginBlock(head);
    case FrameHead::kContinuation:
      return false;
    case FrameHead::kReset:
      ResetCall(head.stream);
      return true;
    default:
      return true;
  }
}

// gRPC begins a call with the first frame of its headers, where the stream's number is odd and
// larger than all before. Those of a call that is open are trailers, and others are not kept.
bool HeaderGuard::BeginBlock(const FrameHead& head) {
  block_ = Block{.stream = head.stream};
  if ((head.flags & FrameHead::kHasPriority) != 0) block_.priority_bytes = kPriorityBytes;
  // gRPC would take them from the next frame, and fields for them.
  if (head.size < block_.priority_bytes) return false;
  if (head.stream % 2 == 1 && head.stream > last_call_) {
    last_call_ = head.stream;
    if (calls_.size() >= kMaxOpenCalls || !TakeForCall()) return false;
    calls_.emplace(head.stream, 0);
  }
  return AddFrame(head);
}

bool HeaderGuard::AddFrame(const FrameHead& head) {
  block_.announced += head.size;
  ++block_.frames;
  return block_.announced <= kMaxBlockBytes && block_.frames <= kMaxFrames;
}

bool HeaderGuard::Add(std::string_view part) {
  block_.received += static_cast<int64_t>(part.size());
  const size_t priority = std::min<size_t>(block_.priority_bytes, part.size());
  block_.priority_bytes -= static_cast<uint32_t>(priority);
  // gRPC 1.51 knows no padding, and takes it for fields.
  if (!block_.fields.Take(part.substr(priority))) return false;
  if (block_.fields.count() > kMaxFields) return false;
  const int64_t takes = block_.received + block_.fields.count() * kBytesOfField - kUsualBytes;
  const int64_t more = takes - block_.taken;
  if (takes <= 0) [[likely]]
    return true;
  if (!TakeForHeaders(more)) return false;
  block_.taken += more;
  return true;
}

bool HeaderGuard::EndFrame(const FrameHead& head) {
  if ((head.flags & FrameHead::kEndHeaders) == 0) return true;
  // Of a block that it does not keep gRPC would take the rest for the next one's beginning.
  if (!block_.fields.IsWhole()) return false;
  const auto call = calls_.find(block_.stream);
  if (call != calls_.end()) {
    call->second += block_.taken;
  } else {
    ReturnOfHeaders(block_.taken);
  }
  block_ = Block{};
  return true;
}

bool HeaderGuard::TakeForCall() {
  if (!budgets_.all.Take(kBytesOfCall, of_all_)) return false;
  of_all_ += kBytesOfCall;
  return true;
}

bool HeaderGuard::TakeForHeaders(int64_t bytes) {
  if (!budgets_.headers.Take(bytes, of_headers_)) return false;
  of_headers_ += bytes;
  // Where this fails, the connection ends, and all is given back.
  if (!budgets_.all.Take(bytes, of_all_)) return false;
  of_all_ += bytes;
  return true;
}

void HeaderGuard::ReturnOfHeaders(int64_t bytes) {
  if (bytes == 0) [[likely]]
    return;
  of_headers_ -= bytes;
  of_all_ -= bytes;
  budgets_.headers.Return(bytes);
  budgets_.all.Return(bytes);
}

void HeaderGuard::EndCall(uint32_t stream) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  ReturnOfHeaders(call->second);
  ReturnOfCalls(1);
  calls_.erase(call);
}

void HeaderGuard::ReturnOfCalls(int64_t calls) {
  of_all_ -= calls * kBytesOfCall;
  budgets_.all.Return(calls * kBytesOfCall);
}

void HeaderGuard::ResetCall(uint32_t stream) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  resets_.turn = budgets_.turn();
  ++resets_.calls;
  resets_.of_headers += call->second;
  calls_.erase(call);
}

// The turn in which the last one came may have been about to end.
void HeaderGuard::ForgetResets() {
  if (budgets_.turn() - resets_.turn < 2) return;
  ReturnOfHeaders(resets_.of_headers);
  ReturnOfCalls(resets_.calls);
  resets_ = {};
}

void HeaderGuard::Send(std::string_view bytes) {
  const MutexLock lock(&mutex_);
  while (!bytes.empty()) {
    if (sent_.Next(bytes) != FrameReader::Found::kHead) continue;
    const FrameHead& head = sent_.head();
    const bool may_end = head.type == FrameHead::kHeaders || head.type == FrameHead::kData;
    if (head.type == FrameHead::kReset || (may_end && (head.flags & FrameHead::kEndStream) != 0)) {
      EndCall(head.stream);
    }
  }
}

size_t HeaderGuard::open_calls() const {
  const MutexLock lock(&mutex_);
  return calls_.size();
}

}  // namespace headgate::transport
