// How many may wait in lines, and how they share.

#pragma once

#include <cstddef>

namespace headgate::line {

struct LineOptions {
  size_t max_waiting = 65536;  // Checks; 0: nobody waits
  // Of one caller; of one root identity where nobody is named. The last eighth, or half of what one
  // leaves to others if that is less, is for those who have less than an eighth of it: so a third
  // one finds room where two take all they may.
  double max_waiting_share = 0.5;
  double priority_floor = 0.05;  // see FairQueue
};

}  // namespace headgate::line
