#include "server/serve/rpc/call_evidence.h"

namespace headgate::rpc {

access::KnownConnection* CallEvidence::Connection() const {
  if (connections_ == nullptr) return nullptr;
  if (access::KnownConnection* const known = connections_->Find(Origin()); known != nullptr) {
    return known;
  }
  // Others prove nothing that would take time to read.
  return IsTls() ? &connections_->Put(transport::CallOrigin(context_)) : nullptr;
}

absl::InlinedVector<std::string_view, 2> CallEvidence::Authorization() const {
  absl::InlinedVector<std::string_view, 2> headers;
  const auto [first, last] = context_.client_metadata().equal_range("authorization");
  for (auto header = first; header != last; ++header) {
    headers.emplace_back(header->second.data(), header->second.size());
  }
  return headers;
}

}  // namespace headgate::rpc
