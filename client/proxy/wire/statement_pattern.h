// What kind of work a statement is: its text without constants, comments and needless white space,
// so that costs are learnt for all statements that differ only in them.
//
//   SELECT * FROM t WHERE id IN (1, 2) AND name = 'x'
//   select * from t where id in (?) and name = ?
//
// It knows nothing of SQL but its tokens: an alias, the order of conditions or a schema that is
// left out make another pattern. Words are lower-cased; quoted names stay. Text that was cut is a
// pattern of what is there.
//
// A pure function.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::proxy {

// The longest: what is beyond it is replaced by a hash of all of it.
inline constexpr size_t kMaxPatternBytes = 200;

// Empty where there is nothing but space and comments. Printable UTF-8.
std::string PatternOf(std::string_view statement);

}  // namespace headgate::proxy
