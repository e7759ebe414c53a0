#include "server/govern/access/access_policy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/identity.h"

namespace headgate::access {
namespace {

constexpr std::string_view kDns = "DNS:";

int DepthOf(std::string_view selector) {
  return 1 + static_cast<int>(std::count(selector.begin(), selector.end(), ':'));
}

// Each text with its length, so that no two specs have the same.
std::string RightsOf(CallerSpec spec) {
  std::string rights;
  const auto add = [&rights](const std::string& text) {
    absl::StrAppend(&rights, text.size(), ":", text);
  };
  std::sort(spec.identities.begin(), spec.identities.end());
  for (const std::string& identity : spec.identities) add(identity);
  rights += ';';
  std::sort(spec.tags.begin(), spec.tags.end());
  for (const auto& [key, value] : spec.tags) {
    add(key);
    add(value);
  }
  rights += ';';
  std::sort(spec.segments.begin(), spec.segments.end());
  for (const std::string& segment : spec.segments) add(segment);
  rights += ';';
  for (const bool grant : {spec.overrides, spec.exempt_overrides, spec.everything, spec.costs,
                           spec.forgive, spec.logs, spec.status, spec.servers, spec.agent}) {
    rights += grant ? '1' : '0';
  }
  return rights;
}

}  // namespace

std::string CanonicalName(std::string_view certificate) {
  if (!certificate.starts_with(kDns)) return std::string(certificate);
  return absl::StrCat(Sv(kDns), absl::AsciiStrToLower(Sv(certificate.substr(kDns.size()))));
}

TagSet::TagSet(const std::vector<TagSpec>& tags) {
  for (const auto& [key, value] : tags) values_[key].insert(value);
}

Caller::Caller(const CallerSpec& spec, uint64_t seed, const AccessPolicy& policy)
    : policy_(policy),
      name_(spec.name),
      tags_(spec.tags),
      segments_(spec.segments.begin(), spec.segments.end()),
      overrides_(spec.overrides),
      exempt_overrides_(spec.exempt_overrides),
      everything_(spec.everything),
      costs_(spec.costs),
      forgive_(spec.forgive),
      logs_(spec.logs),
      status_(spec.status),
      servers_(spec.servers),
      agent_(spec.agent),
      rights_(RightsOf(spec)),
      seal_(seed, spec.name) {
  for (const std::string& selector : spec.identities) {
    if (selector == kAnyIdentity) {
      any_identity_ = true;
    } else if (const int depth = DepthOf(selector); depth <= Identity::kMaxSegments) {
      selectors_.insert(selector);
      depths_ |= 1U << (depth - 1);
    }
  }
}

size_t Caller::GrantedBytes(std::string_view identity) const {
  if (any_identity_) return std::max<size_t>(identity.size(), 1);
  // Longer ones are none; what is refused here says so at its leisure.
  if (identity.size() > Identity::kMaxBytes) return 0;
  size_t granted = 0;
  size_t end = identity.size();
  for (int depth = 1; depth <= Identity::kMaxSegments; ++depth) {
    const size_t colon = end == 0 ? std::string_view::npos : identity.rfind(':', end - 1);
    const size_t begin = colon == std::string_view::npos ? 0 : colon + 1;
    if ((depths_ >> (depth - 1) & 1) != 0) {
      const std::string_view level = identity.substr(begin);
      if (selectors_.contains(Sv(level))) granted = level.size();
    }
    if (colon == std::string_view::npos || depths_ >> depth == 0) break;
    end = colon;
  }
  return granted;
}

AccessPolicy::AccessPolicy(const PolicySpec& spec, uint64_t seed)
    : protected_tags_(spec.protected_tags),
      protected_segments_(spec.protected_segments.begin(), spec.protected_segments.end()) {
  for (const CallerSpec& from : spec.callers) {
    const Caller* const caller = &callers_.emplace_back(from, seed, *this);
    by_name_.emplace(from.name, caller);
    if (!from.certificate.empty()) by_certificate_.emplace(CanonicalName(from.certificate), caller);
    if (!from.token.empty()) by_token_.emplace(from.token, caller);
    if (from.anybody && anybody_ == nullptr) anybody_ = caller;
  }
}

const Caller* AccessPolicy::ByCertificate(std::string_view name) const {
  const auto found = by_certificate_.find(CanonicalName(name));
  return found == by_certificate_.end() ? nullptr : found->second;
}

const Caller* AccessPolicy::ByToken(std::string_view name) const {
  const auto found = by_token_.find(Sv(name));
  return found == by_token_.end() ? nullptr : found->second;
}

const Caller* AccessPolicy::ByName(std::string_view name) const {
  const auto found = by_name_.find(Sv(name));
  return found == by_name_.end() ? nullptr : found->second;
}

std::string_view AccessPolicy::ForeignSegment(const Caller& caller, std::string_view identity,
                                              size_t granted) const {
  if (protected_segments_.empty()) return {};
  const size_t own = identity.size() - std::min(granted, identity.size());
  for (size_t begin = 0; begin < own;) {
    const size_t end = std::min(identity.find(':', begin), identity.size());
    const std::string_view segment = identity.substr(begin, end - begin);
    if (protected_segments_.contains(Sv(segment)) && !caller.MayUseSegment(segment)) return segment;
    begin = end + 1;
  }
  return {};
}

}  // namespace headgate::access
