// Who is who, from outside: a certificate's name, a token, and the identity that a caller claims.
// The first line is the name, the second the token, the rest the identity.
//
// Only the very names and tokens of the policy are known; a caller speaks for an identity exactly
// if one of its selectors is the identity or its end behind a ':', told here byte by byte.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "server/govern/access/access_policy.h"
#include "server/govern/access/token_book.h"

namespace {

using headgate::access::AccessPolicy;
using headgate::access::Caller;
using headgate::access::TokenBook;

constexpr std::string_view kToken = "0123456789abcdef0123";
const char* const kSelectors[] = {"backfill", "a:etl", "etl"};

void Require(bool condition) {
  if (!condition) std::abort();
}

const AccessPolicy& Policy() {
  static const auto* const kPolicy = new AccessPolicy(
      {.callers = {{.name = "uri",
                    .certificate = "URI:spiffe://prod/jobs",
                    .identities = {kSelectors[0], kSelectors[1], kSelectors[2]}},
                   {.name = "dns", .certificate = "DNS:jobs.example", .identities = {"*"}}},
       .protected_segments = {"vip"}},
      7);
  return *kPolicy;
}

const TokenBook& Book() {
  static const auto* const kBook = new TokenBook(
      *TokenBook::Parse("t sha256:1bd8fd47297046f993e608e398d5905b00a33e163c6b1172dd38887fed05ed6a",
                        "f"));  // of kToken
  return *kBook;
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The longest selector that the identity is under, byte by byte.
size_t GrantedBytes(std::string_view identity) {
  size_t granted = 0;
  for (const std::string_view selector : kSelectors) {
    if (!identity.ends_with(selector)) continue;
    const size_t above = identity.size() - selector.size();
    if (above > 0 && identity[above - 1] != ':') continue;
    granted = std::max(granted, selector.size());
  }
  return identity.size() <= 512 ? granted : 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view name = TakeLine(text);
  const std::string_view token = TakeLine(text);
  const std::string_view identity = text;

  const Caller* const named = Policy().ByCertificate(name);
  const bool is_uri = name == "URI:spiffe://prod/jobs";
  const bool is_dns =
      name.starts_with("DNS:") &&
      absl::AsciiStrToLower(absl::string_view(name.data(), name.size())) == "dns:jobs.example";
  Require((named != nullptr) == (is_uri || is_dns));
  if (named != nullptr) Require(named->name() == (is_uri ? "uri" : "dns"));

  Require((Book().Find(token) != nullptr) == (token == kToken));

  const Caller& caller = *Policy().ByCertificate("URI:spiffe://prod/jobs");
  const size_t granted = caller.GrantedBytes(identity);
  Require(granted == GrantedBytes(identity));
  const std::string_view foreign = Policy().ForeignSegment(caller, identity, granted);
  Require(foreign.empty() || foreign == "vip");
  return 0;
}
