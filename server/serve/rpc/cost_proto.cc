#include "server/serve/rpc/cost_proto.h"

#include "absl/strings/escaping.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

// For a name of which nothing is known any more.
constexpr char kUnknownName[] = "?";

}  // namespace

void FillLearntCost(const engine::LearntCost& from, v1::LearntCost& to) {
  to.set_target(from.target);
  to.set_root(from.root.empty() ? kUnknownName : from.root);
  to.set_caller(from.caller);
  to.set_pattern(from.has_pattern && from.pattern.empty() ? kUnknownName : from.pattern);
  if (from.cost_ratio.has_value()) to.set_cost_ratio(*from.cost_ratio);
  if (from.mean_cost.has_value()) to.set_mean_cost(*from.mean_cost);
  if (from.busy_ratio.has_value()) to.set_busy_ratio(*from.busy_ratio);
  if (from.mean_busy_time.has_value()) {
    SetDuration(*from.mean_busy_time, *to.mutable_mean_busy_time());
  }
  to.set_reports(from.reports);
  SetTimestamp(from.last_reported_at, *to.mutable_last_reported_at());
}

std::string MakeCostToken(const engine::LearntCost& last) {
  v1::LearntCost place;
  place.set_target(last.target);
  place.set_root(last.root);
  place.set_caller(last.caller);
  place.set_pattern(last.pattern);
  SetTimestamp(last.last_reported_at, *place.mutable_last_reported_at());
  return absl::WebSafeBase64Escape(place.SerializeAsString());
}

absl::StatusOr<engine::LearntCost> ReadCostToken(const std::string& token) {
  std::string bytes;
  v1::LearntCost place;
  const bool read = absl::WebSafeBase64Unescape(token, &bytes) && place.ParseFromString(bytes);
  const google::protobuf::Timestamp& at = place.last_reported_at();
  if (!read || !place.has_last_reported_at() || at.seconds() < 0 ||
      at.seconds() > kLastUnixSecond || at.nanos() < 0) {
    return absl::InvalidArgumentError("page_token: is not one that this server gave out");
  }
  return PlaceOf(place);
}

engine::LearntCost PlaceOf(const v1::LearntCost& cost) {
  engine::LearntCost place;
  place.target = cost.target();
  place.root = cost.root();
  place.caller = cost.caller();
  place.pattern = cost.pattern();
  place.last_reported_at = TimeOf(cost.last_reported_at());
  return place;
}

}  // namespace headgate::rpc
