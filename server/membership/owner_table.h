// OwnerTable: who owns which target, as one thread publishes it and all others read it.
//
// A target that this server owns is looked up without a lock: in a table of names that is replaced
// when a name is added, and whose entries stay. Names that the configuration no longer has are
// kept, owned by nobody; tables that were replaced are kept too, for somebody may read them: both
// grow with the number of names that were ever configured, and with nothing else.
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
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/cluster/owners.h"
#include "server/cluster/protocol.h"

namespace headgate::membership {

class OwnerTable {
 public:
  OwnerTable() : names_(std::make_unique<Names>()) { current_.store(names_.get()); }
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

 private:
  struct Entry {
    std::atomic<int64_t> trusted_until_ns{0};  // 0: not this server's
    std::atomic<uint64_t> generation{0};       // relaxed: it is told, and orders nothing
    mutable Mutex mutex;
    cluster::OwnerRow row ABSL_GUARDED_BY(mutex);  // of another's
  };
  using Names = absl::flat_hash_map<std::string, Entry*>;

  Entry& EntryOf(const std::string& target);

  std::map<std::string, std::unique_ptr<Entry>> entries_;  // of the publishing thread
  std::unique_ptr<Names> names_;                           // likewise: the current one
  std::vector<std::unique_ptr<Names>> replaced_;           // likewise
  std::atomic<const Names*> current_{nullptr};
  // release and acquire, both: who finds that something was forgotten here finds these set.
  std::atomic<bool> is_anybody_missing_{true};
  std::atomic<int64_t> lost_at_ns_{INT64_MIN};
};

}  // namespace headgate::membership
