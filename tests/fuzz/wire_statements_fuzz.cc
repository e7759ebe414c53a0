// Any text as a statement, as its comments, and as an identity's template: tokens are all of the
// text, patterns are printable, short and their own patterns, tags are bounded, and an identity
// that is made of any of it is one.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "client/proxy/wire/identity_template.h"
#include "client/proxy/wire/sql_scan.h"
#include "client/proxy/wire/statement_pattern.h"
#include "client/proxy/wire/statement_tags.h"
#include "common/identity.h"
#include "common/utf8.h"
#include "tests/fuzz/require.h"

namespace headgate::proxy {
namespace {

using fuzz::Require;

void Run(std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const SqlToken token = NextToken(rest);
    Require(!token.text.empty() && token.text.data() == rest.data(), "a token of nothing");
    rest.remove_prefix(token.text.size());
  }
  const std::string pattern = PatternOf(text);
  Require(pattern.size() <= kMaxPatternBytes, "a pattern that is too long: ", pattern);
  Require(!FindBadByte(pattern).has_value(), "a pattern that is not printable: ", pattern);

  const std::map<std::string, std::string> tags = TagsOf(text);
  Require(tags.size() <= kMaxTags, "too many tags");
  for (const auto& [key, value] : tags) {
    Require(!key.empty() && key.size() + value.size() <= kMaxTagBytes, "a tag that is too long");
  }

  const std::string whole(text);
  const ConnectionFacts facts{
      .user = whole, .database = whole, .application_name = whole, .client_address = whole};
  const absl::StatusOr<IdentityTemplate> known =
      IdentityTemplate::Parse("{user}:{tag:a}:{application_name}");
  Require(Identity::Parse(known->Fill(facts, tags), 7).ok(), "no identity of ", whole);
  const absl::StatusOr<IdentityTemplate> own = IdentityTemplate::Parse(text);
  if (!own.ok()) return;
  const std::string identity = own->Fill(facts, tags);
  Require(Identity::Parse(identity, 7).ok(), "a template that makes none: ", identity);
}

}  // namespace
}  // namespace headgate::proxy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  headgate::proxy::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
