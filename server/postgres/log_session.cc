#include "server/postgres/log_session.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <pqxx/except>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/strings.h"
#include "server/postgres/sql_error.h"

namespace headgate::postgres {
namespace {

// As a store says it. libpqxx keeps the SQLSTATE of those alone for which it has no class.
absl::Status StatusOf(const pqxx::sql_error& error) {
  const std::string& state = error.sqlstate();
  const std::string text(absl::StripAsciiWhitespace(error.what()));
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr) {
    return absl::PermissionDeniedError(text);
  }
  if (dynamic_cast<const pqxx::insufficient_resources*>(&error) != nullptr) {
    return absl::ResourceExhaustedError(text);
  }
  if (dynamic_cast<const pqxx::syntax_error*>(&error) != nullptr) {  // a table is missing, too
    return absl::FailedPreconditionError(text);
  }
  if (state.starts_with("XX00")) return absl::DataLossError(text);
  // Locks (55P03), statement_timeout (57014): it can be tried again.
  if (state.starts_with("55") || state == "57014") return absl::UnavailableError(text);
  return SqlError(state, text);
}

absl::Status StatusOfCall(absl::FunctionRef<void()> call) {
  try {
    call();
    return absl::OkStatus();
  } catch (const pqxx::sql_error& error) {
    return StatusOf(error);
  } catch (const pqxx::broken_connection& error) {
    return ConnectError(error.what());
  } catch (const std::exception& error) {
    return absl::UnavailableError(Sv(error.what()));
  }
}

struct Option {
  std::string_view keyword;
  std::string value;
};

// A dead peer is noticed by TCP; a stopped one is for the watchdog.
std::vector<Option> Defaults(absl::Duration limit) {
  const int64_t limit_s =
      std::max<int64_t>(2, absl::ToInt64Seconds(absl::Ceil(limit, absl::Seconds(1))));
  return {{"connect_timeout", absl::StrCat(limit_s)},
          {"keepalives_idle", "10"},
          {"keepalives_interval", "5"},
          {"keepalives_count", "3"},
          {"tcp_user_timeout", absl::StrCat(limit_s * 1000)},
          {"application_name", "headgate"},
          {"client_encoding", "UTF8"}};
}

// The connection string as key='value' pairs, with our defaults where it says nothing.
absl::StatusOr<std::string> Complete(const std::string& dsn, absl::Duration limit) {
  struct Freer {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
  };
  const std::unique_ptr<PQconninfoOption, Freer> options(PQconninfoParse(dsn.c_str(), nullptr));
  if (options == nullptr) {  // what is wrong is not told: it may quote a password
    return absl::InvalidArgumentError("the connection string of the throttle log cannot be read");
  }
  std::vector<Option> all = Defaults(limit);
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    std::erase_if(all, [&](const Option& one) { return one.keyword == option->keyword; });
    all.push_back({option->keyword, option->val});
  }
  std::string complete;
  for (const Option& option : all) {
    absl::StrAppend(&complete, Sv(option.keyword), "='",
                    absl::StrReplaceAll(option.value, {{"\\", "\\\\"}, {"'", "\\'"}}), "' ");
  }
  return complete;
}

// Left to itself libpqxx reconnects behind our back, without our settings or the watchdog.
void ForbidReconnecting(pqxx::connection& connection) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogSession>> LogSession::Open(const std::string& dsn,
                                                             absl::Duration limit) {
  absl::StatusOr<std::string> complete = Complete(dsn, limit);
  if (!complete.ok()) return complete.status();
  std::unique_ptr<LogSession> session(new LogSession(limit));
  absl::Status status =
      StatusOfCall([&] { session->connection_ = std::make_unique<pqxx::connection>(*complete); });
  if (!status.ok()) return status;
  ForbidReconnecting(*session->connection_);
  session->socket_ = dup(session->connection_->sock());
  // A lock that is not to be had soon is tried again later.
  const int64_t limit_ms = absl::ToInt64Milliseconds(limit);
  const std::string settings =
      absl::StrCat("SET statement_timeout = ", limit_ms,
                   "; SET lock_timeout = ", std::max<int64_t>(1, limit_ms / 2),
                   "; SET TimeZone = 'UTC'; SET jit = off", "; SET client_min_messages = error");
  status = session->Transact([&](pqxx::work& work) { work.exec(settings); });
  if (!status.ok()) return status;
  return session;
}

LogSession::~LogSession() {
  connection_ = nullptr;
  if (socket_ >= 0) close(socket_);
}

absl::Status LogSession::Do(absl::FunctionRef<void(pqxx::connection&)> work) {
  watchdog_.Arm(socket_, limit_);
  absl::Status status = StatusOfCall([&] { work(*connection_); });
  const bool too_late = watchdog_.Disarm();
  if (!status.ok() && too_late) {
    status = absl::UnavailableError(absl::StrCat(
        "the server of the throttle log did not answer within ", absl::FormatDuration(limit_)));
  }
  is_broken_ = is_broken_ || !status.ok() || too_late;
  return status;
}

absl::Status LogSession::Transact(absl::FunctionRef<void(pqxx::work&)> work) {
  return Do([&](pqxx::connection& connection) {
    pqxx::work transaction(connection);
    work(transaction);
    transaction.commit();
  });
}

}  // namespace headgate::postgres
