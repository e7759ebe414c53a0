// Which identities the rules are for, to find those that differ from them in capitals alone.
//
// Identities are case-sensitive: "ETL" is not "etl", and no rule for the one matches a job that
// asks under the other. Nothing fails then, and nothing limits the job, so this is what people are
// warned by: of a file whose rules and callers spell a name in two ways, and of jobs that are
// matched by no rule.
//
// Bounded: it knows the levels and segments of the first kMost selectors. Thread-compatible.
//
//   IdentityNames names;
//   names.AddIdentity("etl", "backfills");
//   names.MeantBy("job-7:ETL")->meant;  // "job-7:etl"

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace headgate::config {

class IdentityNames {
 public:
  static constexpr size_t kMost = 10'000;

  // Two spellings of one name.
  struct Twin {
    std::string spelled;  // the one that was asked about
    std::string known;    // the other one
    std::string rule;     // whose it is
  };
  // The selector or segment of a rule. Returns a twin that was added before; each spelling is told
  // once.
  std::optional<Twin> AddIdentity(std::string_view selector, std::string_view rule);
  std::optional<Twin> AddSegment(std::string_view segment, std::string_view rule);

  // A twin of a level, or of the segment of a rule, that is no rule's.
  std::optional<Twin> TwinOf(std::string_view selector) const;

  // An identity as a rule would match it if capitals did not count.
  struct Meaning {
    std::string meant;    // all of it
    std::string spelled;  // the part of it that is spelled otherwise
    std::string known;    // and as the rule has that
    std::string rule;
  };
  // What an identity that no rule matched was meant to be. Nothing: no rule is for it in any
  // spelling.
  std::optional<Meaning> MeantBy(std::string_view identity) const;

 private:
  struct Name {
    std::string text;
    std::string rule;
    bool selects = false;  // a rule is for this itself, and not for something below
  };
  // By the name in small letters.
  using Names = absl::flat_hash_map<std::string, std::vector<Name>>;

  // Null: none, or the very spelling is there too.
  static const Name* FindTwin(const Names& names, std::string_view text);
  static void Add(Names& names, const Name& name);

  Names levels_;
  Names segments_;
  size_t added_ = 0;
};

}  // namespace headgate::config
