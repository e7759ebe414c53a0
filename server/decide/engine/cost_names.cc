#include "server/decide/engine/cost_names.h"

#include <utility>

namespace headgate::engine {
namespace {

// No character is cut in two.
std::string BeginningOf(std::string_view name) {
  size_t size = CostNames::kMostBytes;
  if (name.size() <= size) return std::string(name);
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;
  return std::string(name.substr(0, size));
}

}  // namespace

std::unique_ptr<CostNames::Text> CostNames::Keep(const Names& names) {
  return std::make_unique<Text>(
      Text{BeginningOf(names.root), BeginningOf(names.caller), BeginningOf(names.pattern)});
}

void CostNames::Write(uint64_t key, const Names& names) {
  const size_t place = PlaceOf(key);
  std::unique_ptr<Text> text = Keep(names);
  MutexLock lock(&locks_[place % kStripes]);
  places_[place].text = std::move(text);
  // relaxed: see Note; Find reads it under the lock.
  places_[place].key.store(key, std::memory_order_relaxed);
}

std::unique_ptr<CostNames::Text> CostNames::Find(uint64_t key) const {
  const size_t place = PlaceOf(key);
  MutexLock lock(&locks_[place % kStripes]);
  // relaxed: written under this lock.
  if (places_[place].key.load(std::memory_order_relaxed) != key) return nullptr;
  return std::make_unique<Text>(*places_[place].text);
}

}  // namespace headgate::engine
