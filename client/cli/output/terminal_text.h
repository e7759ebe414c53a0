// Text for terminals and files, made safe and measured.
//
// Whatever a server sends is escaped before it is printed: a budget's name must not be able to move
// the cursor, to recolour the screen or to reorder a line. Widths are those of a terminal: columns,
// not bytes and not characters.
//
// Pure functions; thread-safe.
//
//   console.out << Escaped(budget.name()) << '\n';

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::cli {

// Control characters, what reorders or hides text, and bytes that are no UTF-8 become \n, \x1b or
// \u202e. All else stays as it is.
std::string Escaped(std::string_view text);

// Whether all of it is UTF-8, as a message of the API has to be.
bool IsUtf8(std::string_view text);

// Without blanks at its ends, and one where there are several, or line breaks or tabs.
std::string Squeezed(std::string_view text);

// Terminal columns of escaped text: 2 for East Asian wide characters, 0 for combining ones. Colour
// sequences (ESC [ ... m) have no width.
size_t DisplayWidth(std::string_view text);

// A name cut to so many columns, in the middle: the beginning of an identity says which one it is,
// and its root whose.
std::string Shortened(std::string_view name, size_t columns);

// The line cut to so many columns; colour sequences are kept.
std::string Fitted(std::string_view line, size_t columns);

}  // namespace headgate::cli
