// OwnerTable: who owns which target, as one thread publishes it and all others read it.
//
// A target that this server owns is looked up at the price of one load (common/published.h): in a
// map of names, which is replaced when names come or go, and whose entries change in place. A map
// that was replaced lives on only while a thread that looked something up in it has not looked
// again. A name that the configuration no longer has is owned by nobody, in such a map too.
//
// Thread-safe; Publish belongs to one thread at a time.
//
//   OwnerTable table;
//   if (table.Publish(protocol.Owners(now_ns), now_ns)) tell_listeners();
//   table.Find("orders", now).kind ...

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/published.h"
#include "server/share/cluster/owners.h"
#include "server/share/cluster/protocol.h"

namespace headgate::membership {

class OwnerTable {
 public:
  OwnerTable() = default;
  OwnerTable(const OwnerTable&) = delete;
  OwnerTable& operator=(const OwnerTable&) = delete;

  // Whether anybody may be answered differently from now on. What a lease that was renewed says
  // longer is no difference.
  bool Publish(const std::map<std::string, cluster::OwnerRow>& owners, int64_t now_ns);

  cluster::Owner Find(std::string_view target, const Now& now) const;

  // As of the newest publication: a target of these is nobody's, one of this server's was until so
  // long ago.
  bool IsAnybodyMissing() const { return is_anybody_missing_.load(std::memory_order_acquire); }
  int64_t lost_at_ns() const { return lost_at_ns_.load(std::memory_order_acquire); }

  // The map of names that is current now: it expires when nobody has it any more.
  std::weak_ptr<const void> current_names() const { return names_.Get(); }

 private:
  struct Entry {
    std::atomic<int64_t> trusted_until_ns{0};  // 0: not this server's
    std::atomic<uint64_t> generation{0};       // relaxed: it is told, and orders nothing
    mutable Mutex mutex;
    cluster::OwnerRow row ABSL_GUARDED_BY(mutex);  // of another's
  };
  struct Names {
    absl::flat_hash_map<std::string, std::shared_ptr<Entry>> entries;
  };

  // Replaces the map if it has other names than these. Whether names have gone that were owned.
  bool PublishNames(const std::map<std::string, cluster::OwnerRow>& owners, int64_t now_ns);
  // Whether the entry says something else from now on.
  bool Update(Entry& entry, const cluster::OwnerRow& row, int64_t now_ns);

  std::shared_ptr<const Names> current_ = std::make_shared<Names>();  // of the publishing thread
  Published<Names> names_;                                            // null: none was published
  // release and acquire, both: who finds that something was forgotten here finds these set.
  std::atomic<bool> is_anybody_missing_{true};
  std::atomic<int64_t> lost_at_ns_{INT64_MIN};
};

}  // namespace headgate::membership
