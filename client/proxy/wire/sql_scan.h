// What stands where in a statement's text, as PostgreSQL's lexer divides it: constants, comments,
// words, white space and the rest. It follows the lexer in where strings and comments end (nested
// comments, dollar quotes, E'' escapes), with standard_conforming_strings on.
//
// A pure function. Text that ends within a string or a comment ends with it.
//
//   for (std::string_view rest = statement; !rest.empty();) {
//     const SqlToken token = NextToken(rest);
//     rest.remove_prefix(token.text.size());
//   }

#pragma once

#include <cstdint>
#include <string_view>

namespace headgate::proxy {

struct SqlToken {
  enum class Kind : uint8_t {
    kSpace,
    kComment,
    kString,  // '', E'', B'', X'', U&'', $tag$ $tag$
    kNumber,
    kParameter,   // $1
    kIdentifier,  // quoted
    kWord,        // a keyword or a name
    kOther,       // one character, or two dots
  };
  Kind kind = Kind::kOther;
  std::string_view text;  // at least one byte
};

// `text` is not empty.
SqlToken NextToken(std::string_view text);

}  // namespace headgate::proxy
