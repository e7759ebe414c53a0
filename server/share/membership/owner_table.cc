#include "server/share/membership/owner_table.h"

#include <algorithm>
#include <utility>

#include "common/strings.h"

namespace headgate::membership {

using cluster::Owner;
using cluster::OwnerRow;

bool OwnerTable::Update(Entry& entry, const OwnerRow& row, int64_t now_ns) {
  const bool is_own = row.kind == OwnerRow::Kind::kSelf;
  // relaxed: it is this thread that has stored it.
  if (!is_own && entry.trusted_until_ns.load(std::memory_order_relaxed) != 0) {
    lost_at_ns_.store(now_ns, std::memory_order_release);
  }
  bool has_changed = false;
  {
    const MutexLock lock(&entry.mutex);
    has_changed = row.kind != entry.row.kind || row.generation != entry.row.generation ||
                  row.address != entry.row.address;
    entry.row = row;
  }
  entry.generation.store(row.generation, std::memory_order_relaxed);
  // release: what was adopted is there for whoever decides by this. What takes it back is ordered
  // by Decisions.
  entry.trusted_until_ns.store(is_own ? row.trusted_until_ns : 0, std::memory_order_release);
  return has_changed;
}

bool OwnerTable::PublishNames(const std::map<std::string, OwnerRow>& owners, int64_t now_ns) {
  const auto is_known = [this](const auto& owner) {
    return current_->entries.contains(owner.first);
  };
  const bool has_same_names = owners.size() == current_->entries.size() &&
                              std::all_of(owners.begin(), owners.end(), is_known);
  if (has_same_names) return false;
  auto names = std::make_shared<Names>();
  names->entries.reserve(owners.size());
  for (const auto& [target, row] : owners) {
    const auto known = current_->entries.find(target);
    names->entries.emplace(
        target, known == current_->entries.end() ? std::make_shared<Entry>() : known->second);
  }
  // Whoever still reads the map that is replaced finds that these are nobody's.
  bool has_changed = false;
  for (const auto& [target, entry] : current_->entries) {
    if (!owners.contains(target)) has_changed = Update(*entry, OwnerRow(), now_ns) || has_changed;
  }
  current_ = names;
  names_.Set(std::move(names));
  return has_changed;
}

bool OwnerTable::Publish(const std::map<std::string, OwnerRow>& owners, int64_t now_ns) {
  bool is_anybody_missing = owners.empty();
  for (const auto& [target, row] : owners) {
    // Of what nobody has there is no owner to come.
    const bool is_missing = row.kind == OwnerRow::Kind::kNobody && row.is_offered;
    is_anybody_missing = is_anybody_missing || is_missing;
  }
  is_anybody_missing_.store(is_anybody_missing, std::memory_order_release);
  bool has_changed = PublishNames(owners, now_ns);
  for (const auto& [target, row] : owners) {
    has_changed = Update(*current_->entries.at(target), row, now_ns) || has_changed;
  }
  return has_changed;
}

Owner OwnerTable::Find(std::string_view target, const Now& now) const {
  const std::shared_ptr<const Names>& names = names_.Get();
  if (names == nullptr) return {};
  const auto found = names->entries.find(Sv(target));
  if (found == names->entries.end()) return {};
  const Entry& entry = *found->second;
  if (now.monotonic_ns < entry.trusted_until_ns.load(std::memory_order_acquire)) {
    return {.kind = Owner::Kind::kSelf,
            .generation = entry.generation.load(std::memory_order_relaxed)};
  }
  const MutexLock lock(&entry.mutex);
  Owner owner{.generation = entry.row.generation};
  if (entry.row.kind != OwnerRow::Kind::kOther) return owner;
  owner.kind = Owner::Kind::kOther;
  owner.member = entry.row.member;
  owner.address = entry.row.address;
  return owner;
}

}  // namespace headgate::membership
