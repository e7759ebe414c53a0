// TokenBook::Parse: no input breaks it; a book that it takes has as many tokens as lines that say
// something, finds none of its own hashes as tokens, and its errors show nothing of a line.

#include <cstdlib>
#include <string>
#include <string_view>

#include "server/govern/access/token_book.h"

namespace {

using headgate::access::TokenBook;

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<TokenBook> book = TokenBook::Parse(text, "f");
  Require(book.ok() || book.status().code() == absl::StatusCode::kInvalidArgument);
  if (!book.ok()) {
    for (const char c : book.status().message()) Require(c == '\n' || (c >= ' ' && c < 0x7f));
    return 0;
  }
  Require(book->Names().size() <= book->size() && book->size() <= TokenBook::kMaxTokens);
  for (const std::string& name : book->Names()) {
    Require(TokenBook::IsName(name) && book->HasName(name));
  }
  // What is in the file opens nothing.
  for (size_t at = text.find("sha256:"); at != std::string_view::npos;
       at = text.find("sha256:", at + 1)) {
    Require(book->Find(text.substr(at + 7, 64)) == nullptr);
  }
  return 0;
}
