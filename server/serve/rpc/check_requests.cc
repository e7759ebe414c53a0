#include "server/serve/rpc/check_requests.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "server/serve/rpc/lease_proto.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

// Longer ones stay as they are: the engine refuses them and says how long they were.
constexpr size_t kMaxScopedBytes = 128;

// `text`, or the view of the Check before if that says the same.
std::string_view Same(const std::string& text, std::string_view before) {
  return text == before ? before : std::string_view(text);
}

bool SameTags(absl::Span<const engine::Tag> a, absl::Span<const engine::Tag> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const engine::Tag& x, const engine::Tag& y) {
                      return x.key == y.key && x.value == y.value;
                    });
}

}  // namespace

absl::StatusOr<absl::Duration> MaxWaitOf(const v1::CheckRequest& check) {
  if (!check.has_max_wait()) [[likely]]
    return absl::ZeroDuration();
  const google::protobuf::Duration& wait = check.max_wait();
  if (wait.nanos() <= -kNanosPerSecond || wait.nanos() >= kNanosPerSecond ||
      (wait.seconds() > 0 && wait.nanos() < 0) || (wait.seconds() < 0 && wait.nanos() > 0)) {
    return absl::InvalidArgumentError("max_wait: is no duration: its parts do not go together");
  }
  if (wait.seconds() < 0 || wait.nanos() < 0) {
    return absl::InvalidArgumentError("max_wait: must not be negative");
  }
  const absl::Duration span = DurationOf(wait);
  if (span > kLongestMaxWait) {
    return absl::InvalidArgumentError(absl::StrCat("max_wait: is ", absl::FormatDuration(span),
                                                   "; at most ",
                                                   absl::FormatDuration(kLongestMaxWait)));
  }
  if (span > absl::ZeroDuration() && check.validate_only() && !IsWatch(check)) {
    return absl::InvalidArgumentError(
        "max_wait: a Check with validate_only is answered at once, and cannot wait");
  }
  return span;
}

void CheckRequests::Start(size_t requests, size_t tags, const From& from) {
  scope_ = from.scope;
  caller_ = from.caller;
  scoped_ids_.clear();
  if (scope_ != 0) scoped_ids_.reserve(requests);
  requests_.clear();
  requests_.reserve(requests);
  tags_.clear();
  tags_.reserve(tags);  // requests point there: it must not move
  leases_.clear();
}

absl::Span<const engine::Tag> CheckRequests::AddTags(const v1::CheckRequest& check) {
  if (check.tags().empty()) return {};
  const size_t begin = tags_.size();
  for (const auto& [key, value] : check.tags()) tags_.push_back({key, value});
  // A map has no order of its own, so that equal ones would be told apart.
  std::sort(tags_.begin() + static_cast<std::ptrdiff_t>(begin), tags_.end(),
            [](const engine::Tag& a, const engine::Tag& b) { return a.key < b.key; });
  return absl::MakeConstSpan(tags_).subspan(begin);
}

std::string_view CheckRequests::ScopedId(const std::string& request_id) {
  if (scope_ == 0 || request_id.empty()) return request_id;
  if (request_id.size() > kMaxScopedBytes) return request_id;
  const uint64_t& id = scoped_ids_.emplace_back(HashBytes(request_id, scope_));
  return {reinterpret_cast<const char*>(&id), sizeof(id)};
}

void CheckRequests::Add(const v1::CheckRequest& check, const engine::IpAddress* address) {
  const engine::CheckRequest* const before = requests_.empty() ? nullptr : &requests_.back();
  engine::CheckRequest request;
  request.tags = AddTags(check);
  if (before == nullptr) {
    request.identity = check.identity();
    request.target = check.target();
    request.pattern = check.pattern();
  } else {
    request.identity = Same(check.identity(), before->identity);
    request.target = Same(check.target(), before->target);
    request.pattern = Same(check.pattern(), before->pattern);
    if (SameTags(request.tags, before->tags)) request.tags = before->tags;
  }
  if (check.has_estimated_cost()) request.estimated_cost = check.estimated_cost();
  request.remote_address = address;
  request.caller = caller_;
  request.request_id = ScopedId(check.request_id());
  // One of no length is none: who does not wait may have a poller's place.
  request.waits = check.max_wait().seconds() > 0 || check.max_wait().nanos() > 0;
  if (check.has_lease()) [[unlikely]] {
    leases_.reserve(requests_.capacity());  // once: it must not move
    request.lease = &leases_.emplace_back(ToLeaseTerms(check.lease()));
  }
  requests_.push_back(request);
}

void CheckRequests::Assign(const v1::CheckRequest& check, const From& from) {
  Start(1, check.tags().size(), from);
  Add(check, from.address);
}

void CheckRequests::Assign(const google::protobuf::RepeatedPtrField<v1::CheckRequest>& checks,
                           int first, int count, const From& from) {
  size_t tags = 0;
  for (int i = first; i < first + count; ++i) tags += checks[i].tags().size();
  Start(static_cast<size_t>(count), tags, from);
  for (int i = first; i < first + count; ++i) Add(checks[i], from.address);
}

}  // namespace headgate::rpc
