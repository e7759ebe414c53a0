#include "server/govern/config/identity_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::config {
namespace {

// The levels of an identity, each from a colon to the end; the root comes first.
std::vector<std::string_view> LevelsOf(std::string_view identity) {
  std::vector<std::string_view> levels;
  for (size_t end = identity.size(); end > 0;) {
    const size_t colon = identity.rfind(':', end - 1);
    if (colon == std::string_view::npos) break;
    levels.push_back(identity.substr(colon + 1));
    end = colon;
  }
  levels.push_back(identity);
  return levels;
}

std::string_view FirstSegment(std::string_view level) { return level.substr(0, level.find(':')); }

std::string Lower(std::string_view text) { return absl::AsciiStrToLower(Sv(text)); }

}  // namespace

const IdentityNames::Name* IdentityNames::FindTwin(const Names& names, std::string_view text) {
  const auto found = names.find(Lower(text));
  if (found == names.end()) return nullptr;
  const std::vector<Name>& spellings = found->second;
  const Name* twin = &spellings.front();
  for (const Name& name : spellings) {
    if (name.text == text) return nullptr;
    if (name.selects && !twin->selects) twin = &name;
  }
  return twin;
}

void IdentityNames::Add(Names& names, const Name& name) {
  std::vector<Name>& spellings = names[Lower(name.text)];
  const auto same = std::find_if(spellings.begin(), spellings.end(),
                                 [&](const Name& known) { return known.text == name.text; });
  if (same == spellings.end()) {
    spellings.push_back(name);
  } else if (name.selects && !same->selects) {
    *same = name;
  }
}

std::optional<IdentityNames::Twin> IdentityNames::TwinOf(std::string_view selector) const {
  for (const std::string_view level : LevelsOf(selector)) {
    const Name* twin = FindTwin(levels_, level);
    if (twin != nullptr) return Twin{std::string(level), twin->text, twin->rule};
    const std::string_view segment = FirstSegment(level);
    twin = FindTwin(segments_, segment);
    if (twin != nullptr && twin->selects) {
      return Twin{std::string(segment), twin->text, twin->rule};
    }
  }
  return std::nullopt;
}

std::optional<IdentityNames::Twin> IdentityNames::AddIdentity(std::string_view selector,
                                                              std::string_view rule) {
  if (selector.empty() || added_ >= kMost) return std::nullopt;
  ++added_;
  std::optional<Twin> twin = TwinOf(selector);
  for (const std::string_view level : LevelsOf(selector)) {
    Add(levels_, {std::string(level), std::string(rule), level == selector});
    Add(segments_, {std::string(FirstSegment(level)), std::string(rule), false});
  }
  return twin;
}

std::optional<IdentityNames::Twin> IdentityNames::AddSegment(std::string_view segment,
                                                             std::string_view rule) {
  if (segment.empty() || added_ >= kMost) return std::nullopt;
  ++added_;
  std::optional<Twin> twin;
  if (const Name* known = FindTwin(segments_, segment); known != nullptr) {
    twin = Twin{std::string(segment), known->text, known->rule};
  }
  Add(segments_, {std::string(segment), std::string(rule), true});
  return twin;
}

std::optional<IdentityNames::Meaning> IdentityNames::MeantBy(std::string_view identity) const {
  const std::vector<std::string_view> levels = LevelsOf(identity);
  const auto replaced = [&](std::string_view part, const Name& by) {
    const auto before = static_cast<size_t>(part.data() - identity.data());
    return Meaning{absl::StrCat(Sv(identity.substr(0, before)), by.text,
                                Sv(identity.substr(before + part.size()))),
                   std::string(part), by.text, by.rule};
  };
  // The longest first: it says most.
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const auto found = levels_.find(Lower(*level));
    if (found == levels_.end()) continue;
    const Name* meant = nullptr;
    for (const Name& name : found->second) {
      if (!name.selects) continue;
      if (name.text == *level) return std::nullopt;  // what kept that rule from it is no capital
      if (meant == nullptr) meant = &name;
    }
    if (meant != nullptr) return replaced(*level, *meant);
  }
  for (const std::string_view level : levels) {
    const std::string_view segment = FirstSegment(level);
    const Name* twin = FindTwin(segments_, segment);
    if (twin != nullptr && twin->selects) return replaced(segment, *twin);
  }
  return std::nullopt;
}

}  // namespace headgate::config
