// Where the next page of a list begins: the period that all pages look at, and the last thing on
// the page before. Opaque to callers, who may tamper with it: it only says where to begin.
//
// Pure functions.
//
//   response.set_next_page_token(MakePageToken({period, last_sum}));

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/remember/throttle_log/query.h"
#include "server/remember/throttle_log/rankings.h"

namespace headgate::rpc {

struct PageStart {
  throttle_log::Period period;
  throttle_log::Sum after;
  throttle_log::RankingPlace ranking = {};  // where the rest of an order by counts is kept
};

std::string MakePageToken(const PageStart& start);

// InvalidArgument: not one of ours.
absl::StatusOr<PageStart> ReadPageToken(const std::string& token);

}  // namespace headgate::rpc
