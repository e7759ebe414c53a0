#include "client/cli/arguments/check_request.h"

namespace headgate::cli {
v1::CheckRequest ToProto(const Globals& globals, const WorkArguments& work) {
  v1::CheckRequest request;
  request.set_identity(work.identity);
  request.set_target(globals.target);
  if (work.cost) request.set_estimated_cost(*work.cost);
  request.set_pattern(work.pattern);
  for (const auto& [key, value] : work.tags) (*request.mutable_tags())[key] = value;
  return request;
}

client::CheckRequest ToSdk(const Globals& globals, const WorkArguments& work) {
  return {.identity = work.identity,
          .target = globals.target,
          .estimated_cost = work.cost,
          .pattern = work.pattern,
          .tags = work.tags};
}

}  // namespace headgate::cli
