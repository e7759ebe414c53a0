// Which database this is, whatever name and address it is reached by: so that what is protected and
// what is the store can be told apart.
//
// Pure data; what reads it throws as libpqxx does.
//
//   if (IsSame(store, target)) return absl::FailedPreconditionError("...");
#pragma once

#include <pqxx/transaction_base>
#include <string>

namespace headgate::store {

struct DatabaseIdentity {
  // Of the cluster, its standbys included; empty where the server does not tell.
  std::string system_identifier;
  std::string database;
  std::string encoding = {};  // such as UTF8
};

DatabaseIdentity ReadDatabaseIdentity(pqxx::transaction_base& work);

// Known to be one database. Two of one cluster are two.
inline bool IsSame(const DatabaseIdentity& a, const DatabaseIdentity& b) {
  return !a.system_identifier.empty() && a.system_identifier == b.system_identifier &&
         a.database == b.database;
}

}  // namespace headgate::store
