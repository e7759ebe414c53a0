#include "client/token.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace headgate::client::internal {
namespace {

// All headers of a call together may have 8 kB.
constexpr size_t kMaxTokenBytes = 4096;

// Without the line break at its end; absent where that is no token.
std::optional<std::string> TokenIn(const std::string& text) {
  const std::string token(absl::StripAsciiWhitespace(text));
  const auto fits = [](unsigned char c) { return absl::ascii_isgraph(c); };
  if (token.empty() || token.size() > kMaxTokenBytes) return std::nullopt;
  if (!std::all_of(token.begin(), token.end(), fits)) return std::nullopt;
  return token;
}

// gRPC owns it, and asks it at each call.
class Plugin final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit Plugin(std::shared_ptr<Token> token) : token_(std::move(token)) {}

  bool IsBlocking() const override { return false; }
  const char* GetType() const override { return "HeadgateToken"; }
  grpc::Status GetMetadata(grpc::string_ref /*service*/, grpc::string_ref /*method*/,
                           const grpc::AuthContext& /*channel*/,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    metadata->emplace("authorization", absl::StrCat("Bearer ", token_->Get()));
    return grpc::Status();
  }
  // Never the token itself.
  grpc::string DebugString() override { return "HeadgateToken"; }

 private:
  const std::shared_ptr<Token> token_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Token>> Token::Load(const std::string& file,
                                                   std::shared_ptr<TimeSource> time) {
  // Not make_shared: the constructor is private.
  std::shared_ptr<Token> token(new Token(file, std::move(time)));
  MutexLock lock(&token->mutex_);
  const absl::StatusOr<WatchedFiles::Texts> texts = token->files_.Read();
  if (!texts.ok()) return texts.status();
  const std::optional<std::string> read = TokenIn(texts->front());
  if (!read.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": holds no token: one word of at most ",
                                                   kMaxTokenBytes, " characters of ASCII"));
  }
  token->token_ = *read;
  return token;
}

std::string Token::Get() {
  MutexLock lock(&mutex_);
  const std::optional<WatchedFiles::Texts> news = files_.News();
  const std::optional<std::string> read = news.has_value() ? TokenIn(news->front()) : std::nullopt;
  if (read.has_value()) token_ = *read;
  return token_;
}

std::shared_ptr<grpc::CallCredentials> Token::CallCredentials() {
  return grpc::MetadataCredentialsFromPlugin(std::make_unique<Plugin>(shared_from_this()));
}

}  // namespace headgate::client::internal
