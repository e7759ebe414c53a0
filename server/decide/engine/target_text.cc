#include "server/decide/engine/target_text.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_word.h"
#include "common/strings.h"

namespace headgate::engine {
namespace {

constexpr size_t kMostNamed = 8;

std::string SomeOf(absl::Span<const std::string> known) {
  const absl::Span<const std::string> named = known.subspan(0, kMostNamed);
  std::string text = absl::StrJoin(named, ", ");
  if (known.size() > kMostNamed) {
    absl::StrAppend(&text, " and ", known.size() - kMostNamed, " more");
  }
  return text;
}

}  // namespace

std::string NoTargetText(std::string_view name, absl::Span<const std::string> known) {
  const std::string no_target = absl::StrCat("no target '", Sv(name), "' is configured");
  const std::string nearest = NearestWord(name, known);
  if (!nearest.empty()) return absl::StrCat(no_target, "; did you mean '", nearest, "'?");
  return known.empty() ? no_target : absl::StrCat(no_target, "; there are: ", SomeOf(known));
}

std::string UnnamedTargetText(absl::Span<const std::string> known) {
  return absl::StrCat("must be named, since several are configured: ", SomeOf(known));
}

}  // namespace headgate::engine
