// How an owner decides on while the store is away, and how others agree to it.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/share/cluster/protocol.h"

namespace headgate::cluster {

bool Protocol::AsksToKeep() const {
  return options_.on_store_loss == OnStoreLoss::kKeep && seen_.HasAny() && !round_status_.ok() &&
         !name_is_taken_ && !is_leaving_ && !holdings_.empty();
}

// As of the newest reply: who has lost the store would else know nobody.
std::map<std::string, MemberRow> Protocol::OthersHere() const {
  std::map<std::string, MemberRow> others;
  for (const auto& [name, member] : seen_.members()) {
    if (name == options_.name || seen_.MemberHere(name, seen_.newest_ns()) == nullptr) continue;
    others.emplace(name, member.view.row);
  }
  return others;
}

int Protocol::ServersWithoutStore() const {
  if (round_status_.ok() || !seen_.HasAny() || name_is_taken_) return 0;
  return static_cast<int>(OthersHere().size()) + 1;
}

void Protocol::AskAllToKeep(int64_t now_ns, std::vector<Action>& actions) {
  if (!AsksToKeep()) return;
  std::vector<Held> held;
  held.reserve(holdings_.size());
  for (const auto& [target, holding] : holdings_) held.push_back({target, holding.generation});
  for (const MemberRow& row : outage_.Ask(now_ns)) {
    actions.push_back(AskToKeep{row, outage_.asking(), options_.period(), held});
  }
}

void Protocol::OnKeepAnswer(const std::string& name, uint64_t asking, bool agrees,
                            int64_t started_ns) {
  outage_.OnAnswer(name, asking, agrees, started_ns);
}

absl::Status Protocol::Agree(const KeepQuestion& question, int64_t now_ns) {
  if (question.to != options_.name) return absl::NotFoundError("another server has this address");
  const auto asker = seen_.members().find(question.name);
  if (!seen_.HasAny() || name_is_taken_) {
    return absl::FailedPreconditionError("it has not reached the store since it started");
  }
  if (asker != seen_.members().end() &&
      asker->second.view.row.incarnation != question.incarnation) {
    return absl::FailedPreconditionError("another process has the asker's name");
  }
  if (round_status_.ok()) return absl::FailedPreconditionError("it reaches the store");
  if (outage_.HasClaimed(question.name)) {
    return absl::FailedPreconditionError("it may have taken a target already");
  }
  for (const Held& held : question.held) {
    const ObservedRow* const row = seen_.Row(held.target);
    const auto news = news_.find(held.target);
    const bool is_another = row != nullptr && (row->view.generation > held.generation ||
                                               (row->view.generation == held.generation &&
                                                row->view.incarnation != question.incarnation));
    const bool is_told = told_.contains(held.target) ||
                         (news != news_.end() && news->second.generation > held.generation);
    if (is_another || is_told || holdings_.contains(held.target)) {
      return absl::FailedPreconditionError(
          absl::StrCat("target ", held.target, " has another owner"));
    }
  }
  outage_.Promise(question.name, now_ns);
  return absl::OkStatus();
}

}  // namespace headgate::cluster
