// One frame of `top`.
//
// Pure functions; thread-safe.

#pragma once

#include <string>

#include "client/cli/output/table.h"
#include "client/cli/top/top_fetch.h"

namespace headgate::cli {

// Health, budgets with bars of debt, who waits, the fullest buckets. Not cut to any width.
std::string TopText(const TopAnswers& answers, const std::string& address, Colours colours);

// Budgets, buckets, lines and who waits in them; the first column tells them apart.
Table TopCsv(const TopAnswers& answers);

// Of the responses as the API has them.
std::string TopJson(const TopAnswers& answers);

// "##########..........  50%" of a share, which may be above 1.
std::string Bar(double share);

}  // namespace headgate::cli
