#include "server/remember/overrides/registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/target_text.h"
#include "server/remember/overrides/override_file.h"
#include "server/remember/overrides/rules.h"

namespace headgate::overrides {
namespace {

// How often a change is tried that others overtake again and again.
constexpr int kAttempts = 8;

const absl::Status& StatusOf(const absl::StatusOr<Override>& result) { return result.status(); }

}  // namespace

void Registry::Keep(InForce next) {
  in_force_ = std::make_shared<const InForce>(std::move(next));
  MutexLock lock(&state_mutex_);
  told_.is_loaded = is_loaded_;
  told_.revision = revision_;
  told_.in_force = in_force_;
}

void Registry::KeepStatus(const absl::Status& status) {
  MutexLock lock(&state_mutex_);
  status_ = status;
}

Registry::Told Registry::ReadTold() const {
  MutexLock lock(&state_mutex_);
  return told_;
}

absl::Status Registry::NothingChanged(const absl::Status& why) {
  KeepStatus(why);
  return absl::UnavailableError(absl::StrCat("nothing has changed: ", why.message()));
}

absl::StatusOr<std::unique_ptr<Registry>> Registry::Open(RegistryOptions options, Clock& clock) {
  absl::StatusOr<std::unique_ptr<OverrideFile>> store =
      OverrideFile::Open(options.path, clock.Read().wall());
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
  if (base_ != nullptr) {
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
  if (!is_loaded_ || revision != revision_) {
    if (absl::Status read = ReadNews(clock_.Read()); !read.ok()) {
      KeepStatus(read);
      return read;
    }
  }
  TryToWriteAgain();
  return absl::OkStatus();
}

void Registry::TryToWrite() {
  MutexLock lock(&mutex_);
  TryToWriteAgain();
}

void Registry::TryToWriteAgain() {
  {
    MutexLock lock(&state_mutex_);
    if (status_.ok()) return;
  }
  if (!is_loaded_) return;
  absl::StatusOr<std::unique_ptr<Change>> change = store_->Prepare({}, revision_);
  absl::Status status = change.ok() ? (*change)->Commit() : change.status();
  if (status.ok()) status = store_->Copy();
  KeepStatus(status);
}

template <typename Result>
Result Registry::Retried(absl::FunctionRef<Result(const Now&)> change) {
  absl::Status news;
  if (!is_loaded_) news = ReadNews(clock_.Read());
  for (int attempt = 1; news.ok(); ++attempt) {
    Result result = change(clock_.Read());
    // An override that this server does not know may have been made through another server a moment
    // ago, so the store is read once before the caller is told that there is none.
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
  if (absl::Status status = Put(base, in_force(), clock_.Read()); !status.ok()) return status;
  base_ = std::make_shared<const engine::PolicySpec>(std::move(base));
  MutexLock state_lock(&state_mutex_);
  told_.base = base_;
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
  if (absl::Status undone = Put(*base_, in_force(), now); !undone.ok()) {
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
  for (const auto& [id, override] : in_force()) {
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
        std::count_if(in_force().begin(), in_force().end(),
                      [](const auto& entry) { return entry.second.selector.everything; });
    if (static_cast<size_t>(of_everything) < options_.max_of_everything) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", of_everything,
                     " overrides of everything in force, the most there may be: delete some"));
  }
  if (in_force().size() >= options_.max_in_force) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", in_force().size(),
                     " overrides in force, the most there may be: delete some"));
  }
  if (!request.actor_is_caller) return absl::OkStatus();
  const auto of_caller =
      std::count_if(in_force().begin(), in_force().end(),
                    [&](const auto& entry) { return entry.second.actor == request.actor; });
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
  if (base_ == nullptr) return absl::FailedPreconditionError("no policy is installed yet");
  if (!KnowsTarget(*base_, made->selector)) {
    std::vector<std::string> known;
    for (const engine::TargetSpec& target : base_->targets) known.push_back(target.name);
    return absl::InvalidArgumentError(
        absl::StrCat("selector.target: ", engine::NoTargetText(made->selector.target, known)));
  }
  EndExpired(now);
  if (absl::Status stands = LiftsNoStop(request, now); !stands.ok()) return stands;
  if (absl::Status room = HasRoom(request); !room.ok()) return room;
  // Answers of this process may have named it although it was never made: it names no other one.
  made->id = next_id_++;
  InForce next = in_force();
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
  const auto found = in_force().find(request.id);
  if (found == in_force().end() || !found->second.AppliesAt(now.wall())) {
    return absl::NotFoundError(absl::StrCat("id: override ", request.id, " is not in force"));
  }
  Override ended = found->second;
  if (request.may_end && !request.may_end(ended)) {
    return absl::PermissionDeniedError(
        absl::StrCat("id: override ", request.id, " may not be ended"));
  }
  const End end{.kind = EventKind::kDeleted,
                .at = now.wall(),
                .actor = request.actor,
                .reason = request.reason};
  InForce next = in_force();
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

std::vector<const Override*> Registry::Expired(const Now& now) const {
  std::vector<const Override*> expired;
  for (const auto& [id, override] : in_force()) {
    if (!override.AppliesAt(now.wall())) expired.push_back(&override);
  }
  std::sort(expired.begin(), expired.end(), [](const Override* a, const Override* b) {
    return std::tie(a->expires_at, a->id) < std::tie(b->expires_at, b->id);
  });
  return expired;
}

void Registry::EndExpired() {
  const Now now = clock_.Read();
  const Told told = ReadTold();
  const auto has_expired = [&](const auto& entry) { return !entry.second.AppliesAt(now.wall()); };
  // Mostly nothing has: then no change is waited for.
  if (std::none_of(told.in_force->begin(), told.in_force->end(), has_expired)) return;
  MutexLock lock(&mutex_);
  EndExpired(now);
}

void Registry::EndExpired(const Now& now) {
  const std::vector<const Override*> expired = Expired(now);
  if (expired.empty()) return;
  InForce next = in_force();
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
  if (base_ != nullptr) Put(*base_, in_force(), now).IgnoreError();
}

}  // namespace headgate::overrides
