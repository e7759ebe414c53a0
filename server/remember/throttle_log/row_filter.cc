#include "server/remember/throttle_log/row_filter.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headgate::throttle_log {
namespace {

template <typename T>
bool Takes(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool HasSegment(std::string_view identity, std::string_view segment) {
  for (;;) {
    const size_t end = identity.find(':');
    if (identity.substr(0, end) == segment) return true;
    if (end == std::string_view::npos) return false;
    identity.remove_prefix(end + 1);
  }
}

// An instance is a signal's name, and " on " a server where there are several.
bool IsOfSignal(std::string_view instance, std::string_view signal) {
  return instance.starts_with(signal) &&
         (instance.size() == signal.size() || instance.substr(signal.size()).starts_with(" on "));
}

}  // namespace

std::string PathOf(std::string_view identity) {
  std::string path;
  path.reserve(identity.size());
  for (;;) {
    const size_t colon = identity.rfind(':');
    if (colon == std::string_view::npos) break;
    path.append(identity.substr(colon + 1)).push_back(':');
    identity.remove_suffix(identity.size() - colon);
  }
  return path.append(identity);
}

bool Selects(std::string_view selector, std::string_view identity) {
  if (selector.empty()) return true;
  if (!identity.ends_with(selector)) return false;
  const size_t above = identity.size() - selector.size();
  return above == 0 || identity[above - 1] == ':';
}

bool TakesWho(const ScanFilter& filter, std::string_view identity, std::string_view target,
              std::string_view server) {
  return (filter.target.empty() || filter.target == target) &&
         (filter.server.empty() || filter.server == server) &&
         (filter.segment.empty() || HasSegment(identity, filter.segment));
}

bool TakesWhat(const ScanFilter& filter, Outcome outcome, const Cause& cause) {
  return Takes(filter.outcomes, outcome) && Takes(filter.reasons, cause.reason) &&
         Takes(filter.budgets, cause.budget) &&
         (filter.signals.empty() ||
          std::any_of(filter.signals.begin(), filter.signals.end(),
                      [&](const std::string& signal) { return IsOfSignal(cause.signal, signal); }));
}

bool Takes(const ScanFilter& filter, int64_t step_s, const RowKey& key) {
  return step_s >= filter.from_s && step_s < filter.to_s &&
         Selects(filter.identity, key.identity) &&
         TakesWho(filter, key.identity, key.target, key.server) &&
         TakesWhat(filter, key.outcome, key.cause);
}

}  // namespace headgate::throttle_log
