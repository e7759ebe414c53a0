// The one statement that each server asks the store each half second: I am here, these targets are
// mine still, these I give away, these I take; and what is there then.
//
// All of it is one statement, so that it is one round trip and one transaction that the store ends
// by itself: a server that is stopped in the middle never leaves a row locked behind it. Its cost
// grows with members and targets, and not with what the targets are asked.
//
// Conditions stand in UPDATEs, which PostgreSQL looks at again where another transaction has
// changed the row meanwhile; so of two who claim a target one gets it. What the reply says of other
// rows is of the statement's beginning. A row that could not be changed though it looked as if it
// could has been taken just then: it is left out of the reply rather than told as it was.
//
// Pure, but that text is quoted by the connection; throws as libpqxx does.
#pragma once

#include <pqxx/transaction_base>
#include <string>

#include "absl/status/statusor.h"
#include "server/share/cluster/store.h"

namespace headgate::store {

std::string RoundSql(const pqxx::transaction_base& work, const cluster::RoundRequest& request);

// Of what RoundSql returns. FailedPrecondition: the schema is of a version that is not known, and
// nothing was done.
absl::StatusOr<cluster::RoundReply> ReadRound(const pqxx::result& rows);

}  // namespace headgate::store
