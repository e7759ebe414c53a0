#include "server/share/cluster/store_outage.h"

#include <algorithm>
#include <utility>

namespace headgate::cluster {

void StoreOutage::BeginRound(std::map<std::string, MemberRow> others) {
  newest_ = std::move(others);
  for (const auto& [name, row] : newest_) others_[name] = row;
}

void StoreOutage::EndRound() {
  others_ = newest_;
  answers_.clear();
  ++asking_;
}

std::vector<MemberRow> StoreOutage::Ask(int64_t now_ns) {
  std::vector<MemberRow> whom;
  for (const auto& [name, row] : others_) {
    Answer& answer = answers_[name];
    if (answer.is_asked || now_ns < answer.ask_at_ns) continue;
    answer.is_asked = true;
    whom.push_back(row);
  }
  return whom;
}

void StoreOutage::OnAnswer(const std::string& name, uint64_t asking, bool agrees,
                           int64_t started_ns) {
  const auto found = answers_.find(name);
  if (asking != asking_ || found == answers_.end()) return;
  Answer& answer = found->second;
  answer.is_asked = false;
  const absl::Duration pause = agrees ? options_.period() : options_.period() / 2;
  answer.ask_at_ns = started_ns + absl::ToInt64Nanoseconds(pause);
  if (!agrees) return;
  answer.agreed_until_ns =
      std::max(answer.agreed_until_ns, started_ns + absl::ToInt64Nanoseconds(options_.trust()));
}

int64_t StoreOutage::NextAsk() const {
  int64_t next = INT64_MAX;
  for (const auto& [name, row] : others_) {
    const auto answer = answers_.find(name);
    if (answer == answers_.end()) return INT64_MIN;
    if (!answer->second.is_asked) next = std::min(next, answer->second.ask_at_ns);
  }
  return next;
}

int64_t StoreOutage::AgreedUntil(int64_t now_ns) const {
  // Of one that knows nobody: nobody may claim what it owns.
  int64_t until_ns = now_ns + absl::ToInt64Nanoseconds(options_.trust());
  for (const auto& [name, row] : others_) {
    const auto answer = answers_.find(name);
    until_ns =
        std::min(until_ns, answer == answers_.end() ? INT64_MIN : answer->second.agreed_until_ns);
  }
  return until_ns;
}

std::vector<std::string> StoreOutage::Missing(int64_t now_ns) const {
  std::vector<std::string> missing;
  for (const auto& [name, row] : others_) {
    const auto answer = answers_.find(name);
    if (answer != answers_.end() && now_ns < answer->second.agreed_until_ns) continue;
    missing.push_back(name);
  }
  return missing;
}

void StoreOutage::Promise(const std::string& owner, int64_t now_ns) {
  promised_until_ns_[owner] = now_ns + absl::ToInt64Nanoseconds(options_.promise());
}

int64_t StoreOutage::BoundUntil(const std::string& owner) const {
  const auto found = promised_until_ns_.find(owner);
  return found == promised_until_ns_.end() ? INT64_MIN : found->second;
}

}  // namespace headgate::cluster
