// Numbers as JSON writes them, for fields of protobuf's types.
//
// Pure functions.

#pragma once

#include <string_view>

namespace headgate::json {

// Whether it has the form that JSON gives to numbers: "-1", "1.5", "2e3".
bool IsNumber(std::string_view text);

// Of a text of that form. False: the type has no such value, as there is none for 1e400; what is
// too small for it, such as 1e-400, is 0. Of floats, "NaN", "Infinity" and
// "-Infinity" are taken too. A whole number may be written as "1.0" or "1e3".
template <typename Number>
bool ReadNumber(std::string_view text, Number& value);

// A text that is a word for a float, or has the form of a number; else an empty one.
std::string_view WordOrNumber(std::string_view text);

}  // namespace headgate::json
