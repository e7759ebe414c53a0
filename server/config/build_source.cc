// Where a connection string comes from.

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "server/config/builder.h"
#include "server/dsn/dsn.h"

namespace headgate::config {
namespace {

bool IsVariable(const std::string& name) {
  const auto fits = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !absl::ascii_isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

PostgresSource Builder::BuildSource(const v1::Postgres& from) {
  using Field = v1::Postgres;
  int given = 0;
  for (const int field :
       {Field::kDsnFieldNumber, Field::kDsnFileFieldNumber, Field::kDsnEnvFieldNumber}) {
    given += positions().Given(from, field) ? 1 : 0;
  }
  if (given != 1) {
    findings.Say(from, given == 0 ? "needs one of dsn, dsn_file and dsn_env"
                                  : "takes only one of dsn, dsn_file and dsn_env");
  }
  if (!from.dsn().empty()) {
    const absl::Status status = dsn::CheckDsn(from.dsn());
    if (!status.ok()) {
      findings.Say(from, Field::kDsnFieldNumber, std::string(status.message()));
    }
  }
  if (!from.dsn_env().empty() && !IsVariable(from.dsn_env())) {
    findings.Say(from, Field::kDsnEnvFieldNumber,
                 "dsn_env must be the name of an environment variable: letters, digits and _");
  }
  if (!from.password_file().empty() && !positions().Given(from, Field::kDsnFieldNumber)) {
    findings.Say(from, Field::kPasswordFileFieldNumber,
                 "password_file goes with dsn; in a dsn_file or a dsn_env the password may be "
                 "part of the connection string");
  }
  return {.dsn = from.dsn(),
          .dsn_file = from.dsn_file(),
          .dsn_env = from.dsn_env(),
          .password_file = from.password_file()};
}

}  // namespace headgate::config
