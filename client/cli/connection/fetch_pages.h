// A list of which a server sends one page after another, as one response.
//
// Thread-safe.
//
//   FetchPages(connection, &v1::OverrideService::Stub::ListOverrides, v1::ListOverridesRequest(),
//              {.max_in_page = 1000}, [](const auto& page) { return page.overrides_size(); });

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "client/cli/connection/connection.h"

namespace headgate::cli {

struct PageOptions {
  int max_in_page = 0;
  std::optional<int> limit = {};  // of rows in all; absent: all that there are
};

// `rows` counts those of a response. Where the limit cuts the list off, next_page_token is set.
template <typename Response, typename Stub, typename Request, typename Rows>
absl::StatusOr<Response> FetchPages(Connection& connection,
                                    grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                                    Request request, const PageOptions& options, Rows rows) {
  Response all;
  for (;;) {
    const int left = options.limit ? *options.limit - rows(all) : options.max_in_page;
    request.set_page_size(std::min(left, options.max_in_page));
    const absl::StatusOr<Response> page = connection.Call(method, request);
    if (!page.ok()) return page.status();
    all.MergeFrom(*page);
    all.set_next_page_token(page->next_page_token());
    if (all.next_page_token().empty() || (options.limit && rows(all) >= *options.limit)) return all;
    request.set_page_token(all.next_page_token());
  }
}

}  // namespace headgate::cli
