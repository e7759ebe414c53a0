// What a statement's comment says of it: the tags of SQLCommenter, which web frameworks and mappers
// add.
//
//   SELECT 1 /*controller='orders',route='%2Forders%2Fid'*/  ->  controller: orders, route:
//   /orders/id
//
// Of a comment that is none of these nothing is taken. They are claims of whoever sent the
// statement.
//
// A pure function.
// Source: the specification of SQLCommenter (key and value are URL-encoded, then quotes escaped).

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace headgate::proxy {

inline constexpr size_t kMaxTags = 32;
inline constexpr size_t kMaxTagBytes = 256;  // of a key and its value, decoded

// Of the last comment that has any, as the specification puts it at the end. Tags that are too
// long, or more than there may be, are left out.
std::map<std::string, std::string> TagsOf(std::string_view statement);

}  // namespace headgate::proxy
