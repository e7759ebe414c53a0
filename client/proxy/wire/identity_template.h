// Who asks, made of what a connection and its statements say of themselves.
//
//   {application_name}:{user}:unasked  ->  pg_dump:reporting:unasked
//
// Fields: {user}, {database}, {application_name}, {client_address}, and {tag:NAME} of a tag in the
// statement's comment. Whatever they say, an identity comes out: a character that identities do not
// have, the colon among them, becomes an underscore; what says nothing is "none"; what is too long
// is cut. User and database are proven by the server; all else are claims.
//
// Immutable once parsed, thread-safe.
//
//   absl::StatusOr<IdentityTemplate> identity = IdentityTemplate::Parse("{user}:nightly");
//   std::string who = identity->Fill({.user = "etl", .database = "orders"}, TagsOf(statement));

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace headgate::proxy {

struct ConnectionFacts {
  std::string user = {};
  std::string database = {};
  std::string application_name = {};
  std::string client_address = {};
};

class IdentityTemplate {
 public:
  // InvalidArgument that says what is wrong, and which fields there are.
  static absl::StatusOr<IdentityTemplate> Parse(std::string_view text);

  std::string Fill(const ConnectionFacts& facts,
                   const std::map<std::string, std::string>& tags) const;
  // Whether statements of one connection may have several identities.
  bool has_tags() const { return has_tags_; }

 private:
  struct Part {
    enum class Kind : uint8_t { kText, kUser, kDatabase, kApplicationName, kClientAddress, kTag };
    Kind kind = Kind::kText;
    std::string text;  // or the tag's key
  };
  using Segment = std::vector<Part>;

  static absl::StatusOr<Part> ParseField(std::string_view field);
  absl::Status ParseSegment(std::string_view text);
  static std::string_view ValueOf(const Part& part, const ConnectionFacts& facts,
                                  const std::map<std::string, std::string>& tags);

  std::vector<Segment> segments_;
  bool has_tags_ = false;
};

}  // namespace headgate::proxy
