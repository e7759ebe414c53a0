#include "server/govern/config/defined_names.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

// Names stand in answers, logs and on one line of a terminal.
bool IsFit(const std::string& name) {
  constexpr size_t kMaxBytes = 128;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  return name.size() <= kMaxBytes && name.front() != ' ' && name.back() != ' ' &&
         std::none_of(name.begin(), name.end(), is_control);
}

}  // namespace

void NameTable::Add(const google::protobuf::Message& item, int field, const std::string& name) {
  if (name.empty()) {
    complete_ = false;
    if (!findings_.positions().Given(item, field)) {
      findings_.Say(item, absl::StrCat("a ", what_, " needs a name"));
    }
    return;
  }
  if (!IsFit(name)) {
    findings_.Say(item, field,
                  absl::StrCat("the name of a ", what_,
                               " has at most 128 bytes, on one line, with no space around it"));
  }
  const int line = findings_.positions().At(item, field).line;
  const auto [first, is_new] = lines_.emplace(name, line);
  if (is_new) {
    in_order_.push_back(name);
  } else {
    findings_.Say(
        item, field,
        absl::StrCat(what_, " ", Quoted(name), " is defined twice, first in line ", first->second));
  }
}

bool NameTable::Require(Position at, const std::string& name) const {
  if (!complete_ || Contains(name)) return true;
  std::string text = absl::StrCat("unknown ", what_, " ", Quoted(name));
  if (in_order_.empty()) {
    absl::StrAppend(&text, "; none is defined");
  } else if (!findings_.full()) {
    absl::StrAppend(&text, Suggestion(name, in_order_));
  }
  findings_.Say(at, std::move(text));
  return false;
}

}  // namespace headgate::config
