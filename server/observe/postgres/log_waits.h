// The columns of the throttle log in which waits stand: all are numbers, in the order of
// wait_numbers.h, and NULL in other rows.
//
// Lists of them for the statements that write, add up and read rows, so that there is one place
// that knows their names. Pure functions.
//
//   absl::StrCat("SELECT ", WaitSums(), " FROM headgate_log.fine")

#pragma once

#include <array>
#include <string>

#include "server/remember/throttle_log/wait_numbers.h"

namespace headgate::postgres {

// `left` is a word of SQL, so those who left are gone.
inline constexpr std::array kWaitColumns = {
    "began",       "admitted",     "denied",       "gone",      "waited_us",
    "held_us",     "longest_us",   "within_100ms", "within_1s", "within_10s",
    "within_1min", "within_10min", "longer"};
static_assert(kWaitColumns.size() == throttle_log::WaitNumbers{}.size());

std::string WaitColumns();       // "began, admitted, ..."
std::string WaitColumnsAdded();  // "ADD COLUMN began bigint, ..."
std::string WaitColumnTypes();   // "began bigint, ..."
// "sum(began)::bigint AS began, ...", but for the longest, of which it is the longest.
std::string WaitSums();
// "began = f.began + excluded.began, ...", likewise.
std::string WaitsAddedUp();

}  // namespace headgate::postgres
