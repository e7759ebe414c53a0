// Names and patterns as PostgreSQL reads them, for whoever asks it about sessions of batch work.
//
// Pure functions; thread-safe.
//
//   statement.parameters = {PostgresArray(roles), PostgresArray(LikePatterns(application_names))};
#pragma once

#include <string>
#include <vector>

namespace headgate {

// An array as PostgreSQL writes it: {"a","b"}.
std::string PostgresArray(const std::vector<std::string>& values);

// Patterns for LIKE of names in which '*' at the end matches any rest, and nothing else is special.
std::vector<std::string> LikePatterns(std::vector<std::string> names);

}  // namespace headgate
