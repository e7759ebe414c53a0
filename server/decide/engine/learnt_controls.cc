#include "server/decide/engine/learnt_controls.h"

#include <algorithm>
#include <utility>

namespace headgate::engine {

LearntControlBytes LearntControls::Get(std::string_view target) const {
  MutexLock lock(&mutex_);
  const auto found = states_.find(target);
  return found == states_.end() ? LearntControlBytes{} : found->second;
}

bool LearntControls::Set(std::string_view target, std::string_view bytes, uint64_t adoption) {
  MutexLock lock(&mutex_);
  const auto found = states_.find(target);
  if (adoption != (found == states_.end() ? 0 : found->second.adoption)) return false;
  if (found == states_.end()) {
    states_[std::string(target)].bytes = bytes;
  } else {
    found->second.bytes = bytes;
  }
  return true;
}

void LearntControls::Adopt(std::string_view target, std::string_view bytes) {
  MutexLock lock(&mutex_);
  states_[std::string(target)] = {.bytes = std::string(bytes), .adoption = ++adoptions_};
}

void LearntControls::KeepOnly(const std::vector<std::string_view>& targets) {
  MutexLock lock(&mutex_);
  std::erase_if(states_, [&](const auto& state) {
    return !std::binary_search(targets.begin(), targets.end(), state.first);
  });
}

void LearntControls::Save(SavedState& state) const {
  MutexLock lock(&mutex_);
  state.controls.clear();
  for (const auto& [target, known] : states_) {
    if (!known.bytes.empty()) state.controls.push_back({target, known.bytes});
  }
}

void LearntControls::Restore(const SavedState& state) {
  MutexLock lock(&mutex_);
  for (const SavedControl& saved : state.controls) states_[saved.target].bytes = saved.bytes;
}

}  // namespace headgate::engine
