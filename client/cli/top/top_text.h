// One frame of `top`.
//
// Pure functions; thread-safe.

#pragma once

#include <string>
#include <vector>

#include "client/cli/output/table.h"
#include "client/cli/top/top_fetch.h"
#include "client/cli/top/top_lead.h"

namespace headgate::cli {

// All of it: what is wrong, who is held back, what is in force, health, budgets with bars of debt,
// who waits, the fullest buckets. Not cut to any width.
std::string TopText(const TopAnswers& answers, const TopLook& look);

// The same for a window of look.columns, as lines to scroll through.
std::vector<std::string> TopBody(const TopAnswers& answers, const TopLook& look);

// Budgets, buckets, lines and who waits in them; the first column tells them apart.
Table TopCsv(const TopAnswers& answers);

// Of the responses as the API has them.
std::string TopJson(const TopAnswers& answers);

// "##########..........  50%" of a share, which may be above 1.
inline constexpr int kWideBar = 20;  // columns
std::string Bar(double share, int columns = kWideBar);

}  // namespace headgate::cli
