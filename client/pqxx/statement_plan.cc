#include "client/pqxx/statement_plan.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace headgate::client::internal {
namespace {

using Json = nlohmann::json;

absl::Status NotAPlan(const char* why) {
  return absl::InvalidArgumentError(std::string("EXPLAIN gave no plan: ") + why);
}

// The member of an object; null if there is none.
const Json* Find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

absl::StatusOr<StatementPlan> ParsePlan(std::string_view json) {
  constexpr bool kThrow = false;
  const Json parsed = Json::parse(json.begin(), json.end(), nullptr, kThrow);
  if (!parsed.is_array()) return NotAPlan("it is not a JSON array");
  StatementPlan plan;
  bool found = false;
  for (const Json& statement : parsed) {
    const Json* root = Find(statement, "Plan");
    if (root == nullptr) continue;  // what a rule added, such as NOTIFY, has no plan
    const Json* cost = Find(*root, "Total Cost");
    if (cost == nullptr || !cost->is_number()) return NotAPlan("\"Total Cost\" is missing");
    plan.total_cost += cost->get<double>();
    found = true;
    const Json* id = Find(statement, "Query Identifier");
    if (!plan.query_id.has_value() && id != nullptr && id->is_number_integer())
      plan.query_id = id->dump();
  }
  if (!found) return NotAPlan("the array has no \"Plan\"");
  if (!std::isfinite(plan.total_cost) || plan.total_cost < 0)
    return NotAPlan("\"Total Cost\" is no cost");
  return plan;
}

}  // namespace headgate::client::internal
