// What an owner knows of a target, in rows of the store: a whole, and changes since.
//
// A write is one statement, of any number of targets. It changes a target's row of ownership where
// that has the writer's generation still, and where the write's number follows the newest one that
// the row names; only then are bytes written, and all that a whole replaces removed. So a server
// that lost the target writes nothing, and neither does a write that was given up long ago and
// reaches the store late. Whoever takes the target over waits for a write that is just being
// committed, and reads it.
//
// A write that is repeated, as its outcome was not known, is harmless.
//
// Functions throw as libpqxx does.
#pragma once

#include <cstdint>
#include <pqxx/transaction_base>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/share/cluster/store.h"

namespace headgate::store {

// As cluster::Store::WriteStates.
std::vector<absl::Status> WriteStates(pqxx::transaction_base& work,
                                      absl::Span<const cluster::StateWrite> writes);

// As cluster::Store::TryStates.
void TryStates(pqxx::transaction_base& work, uint64_t incarnation);

// As cluster::Store::ReadStates. DataLoss: a change is missing among those that were written.
std::vector<cluster::ReadState> ReadStates(pqxx::transaction_base& work,
                                           absl::Span<const cluster::Held> targets);

}  // namespace headgate::store
