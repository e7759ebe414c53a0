#include "server/govern/access/token_book.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/strings.h"

namespace headgate::access {
namespace {

constexpr size_t kMaxErrors = 20;
constexpr char kForm[] = "expected NAME sha256:HEX, HEX being 64 hexadecimal digits";

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<Digest> DigestFromHex(absl::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const int high = DigitOf(hex[2 * i]);
    const int low = DigitOf(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

struct Entry {
  std::string name;
  Digest digest{};
};

// One line that says something. An error shows nothing of it.
absl::StatusOr<Entry> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 2) return absl::InvalidArgumentError(kForm);
  if (!TokenBook::IsName({words[0].data(), words[0].size()})) {
    return absl::InvalidArgumentError(
        "a name is 1 to 128 letters, digits, '_', '-', '.', '@' or '/'");
  }
  absl::string_view hex = words[1];
  if (!absl::ConsumePrefix(&hex, "sha256:")) return absl::InvalidArgumentError(kForm);
  const std::optional<Digest> digest = DigestFromHex(hex);
  if (!digest.has_value()) return absl::InvalidArgumentError(kForm);
  // What `sha256sum` prints where it was given nothing.
  if (*digest == DigestOf("") || *digest == DigestOf("\n")) {
    return absl::InvalidArgumentError("this is the hash of an empty token");
  }
  return Entry{std::string(words[0]), *digest};
}

}  // namespace

absl::StatusOr<TokenBook> TokenBook::Parse(std::string_view text, std::string_view file) {
  TokenBook book;
  std::vector<std::string> errors;
  absl::flat_hash_map<Digest, int> lines;
  int number = 0;
  const auto wrong = [&](const auto&... what) {
    if (errors.size() < kMaxErrors) {
      errors.push_back(absl::StrCat(Sv(file), ":", number, ": ", what...));
    }
  };
  for (absl::string_view line : absl::StrSplit(Sv(text), '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    absl::StatusOr<Entry> entry = ParseLine(line);
    if (!entry.ok()) {
      wrong(entry.status().message());
      continue;
    }
    const auto [first, is_new] = lines.emplace(entry->digest, number);
    if (!is_new) {
      wrong("the same token is in line ", first->second);
      continue;
    }
    if (book.size() == kMaxTokens) {
      wrong("more than ", kMaxTokens, " tokens");
      break;
    }
    book.names_.emplace(entry->digest, std::move(entry->name));
  }
  if (!errors.empty()) return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  return book;
}

const std::string* TokenBook::Find(std::string_view token) const {
  if (token.size() < kMinTokenBytes || token.size() > kMaxTokenBytes) return nullptr;
  const auto found = names_.find(DigestOf(token));
  return found == names_.end() ? nullptr : &found->second;
}

bool TokenBook::IsName(std::string_view name) {
  const auto fits = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-.@/").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), fits);
}

bool TokenBook::HasName(std::string_view name) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const auto& entry) { return entry.second == name; });
}

std::vector<std::string> TokenBook::Names() const {
  std::vector<std::string> names;
  names.reserve(names_.size());
  for (const auto& [digest, name] : names_) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace headgate::access
