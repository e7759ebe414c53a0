#include "server/share/store/database_identity.h"

#include <pqxx/result>

namespace headgate::store {
namespace {

// Where the function is missing, or not for this role, a call would be an error.
constexpr char kTellsItself[] =
    "SELECT coalesce(has_function_privilege(to_regprocedure('pg_catalog.pg_control_system()'),"
    " 'EXECUTE'), false), current_database(), getdatabaseencoding()";

}  // namespace

DatabaseIdentity ReadDatabaseIdentity(pqxx::transaction_base& work) {
  const pqxx::row told = work.exec1(kTellsItself);
  DatabaseIdentity identity{.system_identifier = "",
                            .database = told[1].as<std::string>(),
                            .encoding = told[2].as<std::string>()};
  if (told[0].as<bool>()) {
    identity.system_identifier =
        work.exec1("SELECT system_identifier FROM pg_control_system()")[0].as<std::string>();
  }
  return identity;
}

}  // namespace headgate::store
