// Owners that a test sets.
//
// Thread-safe.
//
//   FixedOwners owners;
//   owners.Set("orders", {.kind = cluster::Owner::Kind::kOther, .address = "127.0.0.1:4711"});

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/share/cluster/owners.h"

namespace headgate::peers {

class FixedOwners final : public cluster::Owners {
 public:
  cluster::Owner OwnerOf(std::string_view target, const Now& /*now*/) const override {
    std::function<void()> asked;
    {
      const MutexLock lock(&mutex_);
      asked = std::exchange(on_next_question_, nullptr);
    }
    if (asked) asked();
    const MutexLock lock(&mutex_);
    const auto found = owners_.find(target);
    return found == owners_.end() ? cluster::Owner() : found->second;
  }
  bool AllAreSettled(const Now& /*now*/) const override {
    const MutexLock lock(&mutex_);
    return std::ranges::none_of(owners_, [](const auto& owned) {
      return owned.second.kind == cluster::Owner::Kind::kNobody;
    });
  }
  int ServersWithoutStore() const override {
    const MutexLock lock(&mutex_);
    return servers_without_store_;
  }
  cluster::Decisions& decisions() override { return decisions_; }
  void Listen(cluster::OwnersListener* listener) override {
    const MutexLock lock(&mutex_);
    listener_ = listener;
  }
  void Leave(cluster::OwnersListener* /*listener*/) override { Listen(nullptr); }

  void LoseStore(int servers) {
    const MutexLock lock(&mutex_);
    servers_without_store_ = servers;
  }
  // Runs before the next answer, once, on the thread that asks.
  void OnNextQuestion(std::function<void()> run) {
    const MutexLock lock(&mutex_);
    on_next_question_ = std::move(run);
  }

  void Set(const std::string& target, const cluster::Owner& owner) {
    cluster::OwnersListener* listener = nullptr;
    {
      const MutexLock lock(&mutex_);
      owners_[target] = owner;
      listener = listener_;
    }
    if (listener != nullptr) listener->OwnersChanged();
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, cluster::Owner, std::less<>> owners_ ABSL_GUARDED_BY(mutex_);
  mutable std::function<void()> on_next_question_ ABSL_GUARDED_BY(mutex_);
  int servers_without_store_ ABSL_GUARDED_BY(mutex_) = 0;
  cluster::OwnersListener* listener_ ABSL_GUARDED_BY(mutex_) = nullptr;
  cluster::Decisions decisions_;
};

}  // namespace headgate::peers
