#include "server/membership/owner_table.h"

#include <utility>

#include "common/strings.h"

namespace headgate::membership {

using cluster::Owner;
using cluster::OwnerRow;

OwnerTable::Entry& OwnerTable::EntryOf(const std::string& target) {
  std::unique_ptr<Entry>& entry = entries_[target];
  if (entry != nullptr) return *entry;
  entry = std::make_unique<Entry>();
  auto names = std::make_unique<Names>(*names_);
  (*names)[target] = entry.get();
  current_.store(names.get(), std::memory_order_release);
  replaced_.push_back(std::exchange(names_, std::move(names)));
  return *entry;
}

bool OwnerTable::Publish(const std::map<std::string, OwnerRow>& owners, int64_t now_ns) {
  bool has_changed = false;
  bool is_anybody_missing = owners.empty();
  for (const auto& [target, row] : owners) {
    is_anybody_missing = is_anybody_missing || row.kind == OwnerRow::Kind::kNobody;
  }
  is_anybody_missing_.store(is_anybody_missing, std::memory_order_release);
  for (const auto& [target, row] : owners) EntryOf(target);
  for (const auto& [target, entry] : entries_) {
    const auto found = owners.find(target);
    const OwnerRow row = found == owners.end() ? OwnerRow() : found->second;
    const bool is_own = row.kind == OwnerRow::Kind::kSelf;
    if (!is_own && entry->trusted_until_ns.load(std::memory_order_relaxed) != 0) {
      lost_at_ns_.store(now_ns, std::memory_order_release);
    }
    {
      const MutexLock lock(&entry->mutex);
      has_changed = has_changed || row.kind != entry->row.kind ||
                    row.generation != entry->row.generation || row.address != entry->row.address;
      entry->row = row;
    }
    entry->generation.store(row.generation, std::memory_order_relaxed);
    // release: what was adopted is there for whoever decides by this. What takes it back is ordered
    // by Decisions.
    entry->trusted_until_ns.store(is_own ? row.trusted_until_ns : 0, std::memory_order_release);
  }
  return has_changed;
}

Owner OwnerTable::Find(std::string_view target, const Now& now) const {
  const Names& names = *current_.load(std::memory_order_acquire);
  const auto found = names.find(Sv(target));
  if (found == names.end()) return {};
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
