// What is made of a program's definitions: its manual page, completion for three shells, and its
// options in Markdown.
//
// Pure functions; thread-safe. The same program gives the same text, byte by byte.
//
//   std::cout << ReferenceIn("man", program);

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/reference/program.h"

namespace headgate::reference {

// For man: troff's macros, as man(7) has them.
std::string ManPage(const Program& program);
// A section for each command, below headings of the second level.
std::string Markdown(const Program& program);

// Scripts to be sourced, or put where the shell looks for them. None needs the program when it
// runs.
std::string BashCompletion(const Program& program);
std::string ZshCompletion(const Program& program);
std::string FishCompletion(const Program& program);

// "man", "markdown", "bash", "zsh" and "fish".
const std::vector<std::string>& ReferenceForms();
// In one of these; empty: there is no such form.
std::string ReferenceIn(std::string_view form, const Program& program);

}  // namespace headgate::reference
