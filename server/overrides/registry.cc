#include "server/overrides/registry.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/overrides/local_store.h"
#include "server/overrides/rules.h"

namespace headgate::overrides {
namespace {

// Of a change that others overtake again and again.
constexpr int kAttempts = 8;

const absl::Status& StatusOf(const absl::StatusOr<Override>& result) { return result.status(); }

}  // namespace

void Registry::Keep(InForce next) {
  in_force_ = std::move(next);
  std::vector<absl::Time> ends;
  std::vector<Override> stops;
  ends.reserve(in_force_.size());
  for (const auto& [id, override] : in_force_) {
    ends.push_back(override.expires_at);
    if (override.IsStop()) stops.insert(stops.begin(), override);
  }
  MutexLock lock(&state_mutex_);
  told_loaded_ = is_loaded_;
  told_revision_ = revision_;
  ends_ = std::move(ends);
  stops_ = std::move(stops);
}

void Registry::KeepStatus(const absl::Status& status) {
  MutexLock lock(&state_mutex_);
  status_ = status;
}

absl::Status Registry::NothingChanged(const absl::Status& why) {
  KeepStatus(why);
  return absl::UnavailableError(absl::StrCat("nothing has changed: ", why.message()));
}

absl::StatusOr<std::unique_ptr<Registry>> Registry::Open(RegistryOptions options, Clock& clock) {
  absl::StatusOr<std::unique_ptr<LocalStore>> store =
      LocalStore::Open(options.path, clock.Read().wall());
  if (!store.ok()) return store.status();
  return Open(*std::move(store), std::move(options), clock);
}

absl::StatusOr<std::unique_ptr<Registry>> Registry::Open(std::unique_ptr<Store> store,
                                                         RegistryOptions options, Clock& clock) {
  // make_unique cannot call the private constructor.
  std::unique_ptr<Registry> registry(new Registry(std::move(options), clock, std::move(store)));
  if (absl::Status loaded = registry->Load(); !loaded.ok()) return loaded;
  return registry;
}

absl::Status Registry::Load() {
  MutexLock lock(&mutex_);
  const Now now = clock_.Read();
  if (absl::Status read = ReadNews(now); !read.ok()) {
    KeepStatus(read);
    return store_->IsShared() ? absl::OkStatus() : read;
  }
  EndExpired(now);
  KeepStatus(store_->unwritable());
  MutexLock state_lock(&state_mutex_);
  restored_ = store_->restored();
  return absl::OkStatus();
}

absl::Status Registry::ReadNews(const Now& now) {
  absl::StatusOr<Contents> contents = store_->Read();
  if (!contents.ok()) return contents.status();
  InForce in_force;
  for (Override& override : contents->open) in_force.emplace(override.id, std::move(override));
  if (base_.has_value()) {
    if (absl::Status put = Put(*base_, in_force, now); !put.ok()) return put;
  }
  is_loaded_ = true;
  revision_ = contents->revision;
  next_id_ = std::max(next_id_, contents->last_id + 1);
  Keep(std::move(in_force));
  return absl::OkStatus();
}

absl::Status Registry::Follow(uint64_t revision) {
  MutexLock lock(&mutex_);
  if (is_loaded_ && revision == revision_) return absl::OkStatus();
  absl::Status read = ReadNews(clock_.Read());
  KeepStatus(read);
  return read;
}

template <typename Result>
Result Registry::Retried(absl::FunctionRef<Result(const Now&)> change) {
  absl::Status news;
  if (!is_loaded_) news = ReadNews(clock_.Read());
  for (int attempt = 1; news.ok(); ++attempt) {
    Result result = change(clock_.Read());
    // What is not here may have been ordered elsewhere just now.
    const bool is_to_be_read =
        absl::IsAborted(StatusOf(result)) ||
        (attempt == 1 && store_->IsShared() && absl::IsNotFound(StatusOf(result)));
    if (!is_to_be_read || attempt == kAttempts) return result;
    news = ReadNews(clock_.Read());
  }
  return NothingChanged(news);
}

absl::Status Registry::Put(const engine::PolicySpec& base, const InForce& in_force,
                           const Now& now) {
  engine::PolicySpec policy = base;
  for (const auto& [id, override] : in_force) {
    if (!override.AppliesAt(now.wall()) || !KnowsTarget(base, override.selector)) continue;
    policy.rules.push_back(RuleOf(override));
  }
  return options_.put(std::move(policy));
}

absl::Status Registry::Install(engine::PolicySpec base) {
  MutexLock lock(&mutex_);
  const Now now = clock_.Read();
  EndExpired(now);
  if (absl::Status status = Put(base, in_force_, now); !status.ok()) return status;
  base_ = std::move(base);
  return absl::OkStatus();
}

absl::Status Registry::Commit(const Edit& edit, InForce next, const Now& now) {
  absl::StatusOr<std::unique_ptr<Change>> change = store_->Prepare(edit, revision_);
  if (!change.ok()) return NothingChanged(change.status());
  if (absl::Status status = Put(*base_, next, now); !status.ok()) return NothingChanged(status);
  absl::Status status = (*change)->Commit();
  if (absl::IsUnknown(status)) status = FindOut(edit);
  if (status.ok()) {
    if (store_->IsShared()) ++revision_;
    Keep(std::move(next));
    KeepStatus(store_->Copy());
    return status;
  }
  // What was in force a moment ago was valid then, and its budgets are the same.
  if (absl::Status undone = Put(*base_, in_force_, now); !undone.ok()) {
    return absl::InternalError(
        absl::StrCat("in force, but not on disk, until the server restarts: ", status.message(),
                     "; ", undone.message()));
  }
  if (absl::IsAborted(status)) return status;
  if (!absl::IsUnknown(status)) return NothingChanged(status);
  KeepStatus(status);
  return absl::UnavailableError(status.message());
}

absl::Status Registry::FindOut(const Edit& edit) {
  const absl::StatusOr<Contents> contents = store_->Read();
  // What is still on its way to the store may happen as long as nothing else does.
  if (!contents.ok() || contents->revision == revision_) {
    return absl::UnknownError(
        "the store did not answer, and nobody knows whether this was done, or will be yet: look "
        "what is in force before it is tried again");
  }
  const auto is_open = [&](int64_t id) {
    return std::any_of(contents->open.begin(), contents->open.end(),
                       [id](const Override& open) { return open.id == id; });
  };
  const auto was_made = [&](const Override& made) {
    return std::find(contents->open.begin(), contents->open.end(), made) != contents->open.end();
  };
  const bool happened = contents->revision == revision_ + 1 &&
                        std::all_of(edit.made.begin(), edit.made.end(), was_made) &&
                        std::none_of(edit.ended.begin(), edit.ended.end(),
                                     [&](const auto& ended) { return is_open(ended.first); });
  if (happened) return absl::OkStatus();
  return absl::AbortedError("others have changed the overrides meanwhile");
}

absl::Status Registry::LiftsNoStop(const CreateRequest& request, const Now& now) const {
  if (request.kind != Kind::kResume || request.may_lift_stops) return absl::OkStatus();
  for (const auto& [id, override] : in_force_) {
    if (override.IsStop() && override.AppliesAt(now.wall()) &&
        Overlap(override.selector, request.selector)) {
      return absl::PermissionDeniedError(RuleName(override));
    }
  }
  return absl::OkStatus();
}

absl::Status Registry::HasRoom(const CreateRequest& request) const {
  if (request.selector.everything) {
    const auto of_everything =
        std::count_if(in_force_.begin(), in_force_.end(),
                      [](const auto& entry) { return entry.second.selector.everything; });
    if (static_cast<size_t>(of_everything) < options_.max_of_everything) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", of_everything,
                     " overrides of everything in force, the most there may be: delete some"));
  }
  if (in_force_.size() >= options_.max_in_force) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "there are ", in_force_.size(), " overrides in force, the most there may be: delete some"));
  }
  if (!request.actor_is_caller) return absl::OkStatus();
  const auto of_caller = std::count_if(in_force_.begin(), in_force_.end(), [&](const auto& entry) {
    return entry.second.actor == request.actor;
  });
  if (static_cast<size_t>(of_caller) < options_.max_in_force / 2) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("caller ", request.actor, " has ", of_caller,
                   " overrides in force, the most that one may have: delete some"));
}

absl::StatusOr<Override> Registry::Create(const CreateRequest& request) {
  MutexLock lock(&mutex_);
  return Retried<absl::StatusOr<Override>>(
      [&](const Now& now) ABSL_NO_THREAD_SAFETY_ANALYSIS { return TryToCreate(request, now); });
}

absl::StatusOr<Override> Registry::TryToCreate(const CreateRequest& request, const Now& now) {
  absl::StatusOr<Override> made = Draft(request, now);
  if (!made.ok()) return made;
  if (!base_.has_value()) return absl::FailedPreconditionError("no policy is installed yet");
  if (!KnowsTarget(*base_, made->selector)) {
    return absl::InvalidArgumentError(
        absl::StrCat("selector.target: no target '", made->selector.target, "' is configured"));
  }
  EndExpired(now);
  if (absl::Status stands = LiftsNoStop(request, now); !stands.ok()) return stands;
  if (absl::Status room = HasRoom(request); !room.ok()) return room;
  // Answers of this process may have named it although it was never made: it names no other one.
  made->id = next_id_++;
  InForce next = in_force_;
  next.emplace(made->id, *made);
  absl::Status committed = Commit({.made = {*made}}, std::move(next), now);
  if (!committed.ok()) return committed;
  return made;
}

absl::StatusOr<Override> Registry::Delete(const DeleteRequest& request) {
  if (absl::Status valid = Validate(request); !valid.ok()) return valid;
  MutexLock lock(&mutex_);
  return Retried<absl::StatusOr<Override>>(
      [&](const Now& now) ABSL_NO_THREAD_SAFETY_ANALYSIS { return TryToDelete(request, now); });
}

absl::StatusOr<Override> Registry::TryToDelete(const DeleteRequest& request, const Now& now) {
  EndExpired(now);
  const auto found = in_force_.find(request.id);
  if (found == in_force_.end() || !found->second.AppliesAt(now.wall())) {
    return absl::NotFoundError(absl::StrCat("id: override ", request.id, " is not in force"));
  }
  Override ended = found->second;
  const End end{.kind = EventKind::kDeleted,
                .at = now.wall(),
                .actor = request.actor,
                .reason = request.reason};
  InForce next = in_force_;
  next.erase(request.id);
  absl::Status status = Commit({.ended = {{request.id, end}}}, std::move(next), now);
  if (!status.ok()) return status;
  return ended;
}

absl::Status Registry::Record(const Deed& deed) {
  if (absl::Status valid = ValidateWho(deed.actor, deed.reason); !valid.ok()) return valid;
  MutexLock lock(&mutex_);
  const Now now = clock_.Read();
  EndExpired(now);
  absl::StatusOr<std::unique_ptr<Change>> change =
      store_->Prepare({.deed = deed, .deed_at = now.wall()}, revision_);
  absl::Status status = change.ok() ? (*change)->Commit() : change.status();
  if (!status.ok()) return NothingChanged(status);
  KeepStatus(store_->Copy());
  return status;
}

void Registry::EndExpired(const Now& now) {
  std::vector<const Override*> expired;
  for (const auto& [id, override] : in_force_) {
    if (!override.AppliesAt(now.wall())) expired.push_back(&override);
  }
  if (expired.empty()) return;
  std::sort(expired.begin(), expired.end(), [](const Override* a, const Override* b) {
    return std::tie(a->expires_at, a->id) < std::tie(b->expires_at, b->id);
  });
  InForce next = in_force_;
  Edit edit;
  for (const Override* override : expired) {
    edit.ended.emplace_back(override->id,
                            End{.kind = EventKind::kExpired, .at = override->expires_at});
    next.erase(override->id);
  }
  absl::StatusOr<std::unique_ptr<Change>> change = store_->Prepare(edit, revision_);
  if (!change.ok() || !(*change)->Commit().ok()) return;
  if (store_->IsShared()) ++revision_;
  Keep(std::move(next));
  // So that they do not apply again should the clock be set back: what was written counts.
  if (base_.has_value()) Put(*base_, in_force_, now).IgnoreError();
}

std::vector<Override> Registry::List(const ListQuery& query) {
  MutexLock lock(&mutex_);
  const Now now = clock_.Read();
  EndExpired(now);
  std::vector<Override> found;
  for (auto it = in_force_.rbegin(); it != in_force_.rend() && found.size() < query.most; ++it) {
    const Override& override = it->second;
    if (query.before_id != 0 && override.id >= query.before_id) continue;
    if (query.selector.has_value() && override.selector != *query.selector) continue;
    if (override.AppliesAt(now.wall())) found.push_back(override);
  }
  return found;
}

Exemptions Registry::ListExemptions(const std::string& target, size_t most) {
  MutexLock lock(&mutex_);
  const absl::Time wall = clock_.Read().wall();
  Exemptions found;
  const auto add = [&](std::string name) {
    if (found.count++ < most) found.rules.push_back(std::move(name));
  };
  if (base_.has_value()) {
    for (const engine::RuleSpec& rule : base_->rules) {
      const bool holds = target.empty() || rule.match.target.empty() || rule.match.target == target;
      const bool exempts = std::holds_alternative<engine::ExemptAction>(rule.action);
      if (exempts && holds && wall < rule.expires_at) add(rule.name);
    }
  }
  for (const auto& [id, override] : in_force_) {
    const bool holds = Overlap(override.selector, {.target = target});
    const bool exempts = override.kind == Kind::kExempt && override.AppliesAt(wall);
    if (exempts && holds) add(RuleName(override));
  }
  return found;
}

absl::StatusOr<std::vector<Event>> Registry::Events(const EventQuery& query) {
  MutexLock lock(&mutex_);
  EndExpired(clock_.Read());
  absl::StatusOr<std::vector<Event>> events = store_->ReadEvents(query);
  if (!events.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the events cannot be read: ", events.status().message()));
  }
  return events;
}

Registry::State Registry::GetState() {
  const absl::Time wall = clock_.Read().wall();
  MutexLock lock(&state_mutex_);
  const auto applies = [wall](absl::Time end) { return wall < end; };
  std::vector<Override> stops;
  std::copy_if(stops_.begin(), stops_.end(), std::back_inserter(stops),
               [wall](const Override& stop) { return stop.AppliesAt(wall); });
  return {.is_loaded = told_loaded_,
          .revision = told_revision_,
          .in_force = static_cast<size_t>(std::count_if(ends_.begin(), ends_.end(), applies)),
          .stops = std::move(stops),
          .status = status_,
          .restored = restored_};
}

}  // namespace headgate::overrides
