#include "server/observe/postgres/session.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/observe/postgres/pooler.h"
#include "server/observe/postgres/sql_error.h"

namespace headgate::postgres {
namespace {

// A dead peer is noticed by TCP; a stopped one is for the watchdog. A lock that is not to be had
// soon is tried again later.
Connector::Options OptionsFor(const SessionOptions& options) {
  const auto at_least_one = [](absl::Duration limit) {
    return std::max<int64_t>(1, absl::ToInt64Milliseconds(limit));
  };
  const int64_t limit_ms = at_least_one(options.statement_timeout);
  const int64_t lock_ms = options.lock_timeout > absl::ZeroDuration()
                              ? at_least_one(options.lock_timeout)
                              : at_least_one(options.statement_timeout / 2);
  const std::string limit = absl::StrCat(limit_ms);
  return {.role = ServerRole::kPrimary,  // no other takes what a store writes
          .defaults = {{"keepalives_idle", "10"},
                       {"keepalives_interval", "5"},
                       {"keepalives_count", "3"},
                       {"tcp_user_timeout", limit}},
          .settings = {{"statement_timeout", limit},
                       {"lock_timeout", absl::StrCat(lock_ms)},
                       {"TimeZone", "UTC"},
                       {"jit", "off"},
                       {"search_path", "pg_catalog,pg_temp"},
                       {"client_min_messages", "error"}}};
}

// Of no meaning to the server: that it is there says that the others arrived.
constexpr char kMark[] = "headgate.session";
// libpqxx's words, of a session that ended while it waited.
constexpr char kNotConnected[] = "not connected";

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(Connector& connector,
                                                       const SessionOptions& options,
                                                       const Deadline& deadline) {
  Connector::Options wanted = OptionsFor(options);
  std::unique_ptr<Session> session(new Session(options.store, wanted.settings));
  wanted.settings.emplace_back(kMark, "1");
  absl::StatusOr<PgConnection> opened = connector.Open(options.dsn, wanted, deadline);
  if (absl::IsDeadlineExceeded(opened.status())) {
    return absl::UnavailableError(opened.status().message());
  }
  if (!opened.ok()) return opened.status();
  session->socket_ = FileDescriptor(fcntl(PQsocket(opened->get()), F_DUPFD_CLOEXEC, 0));
  if (!session->socket_.ok()) return absl::ErrnoToStatus(errno, "the socket of a session");
  // libpqxx waits for each call, and shows what it is told as it stands.
  PQsetnonblocking(opened->get(), 0);
  PQsetErrorVerbosity(opened->get(), PQERRORS_DEFAULT);
  session->greeted_by_ = PQbackendPID(opened->get());
  try {
    session->connection_ = std::make_unique<AdoptedConnection>(*std::move(opened));
  } catch (...) {
    return CaughtError();
  }
  if (absl::Status status = session->Look(deadline); !status.ok()) return status;
  if (absl::Status status = session->RefuseStatementPool(deadline); !status.ok()) return status;
  return session;
}

// A pool of statements ends the session of whoever begins a transaction. libpqxx then looks for
// something else, and what the pooler said is lost.
absl::Status Session::RefuseStatementPool(const Deadline& deadline) {
  if (is_own_) return absl::OkStatus();
  const absl::Status begun = Do(deadline, [](AdoptedConnection& connection) {
    pqxx::work transaction(connection);
    transaction.commit();
  });
  const bool is_ended =
      IsOfStatementPool(begun) || absl::StrContains(begun.message(), kNotConnected);
  return is_ended ? StatementPoolError("it ended the session at a BEGIN") : begun;
}

absl::Status Session::Look(const Deadline& deadline) {
  return Do(deadline, [&](AdoptedConnection& connection) {
    pqxx::nontransaction look(connection);
    const pqxx::row row =
        look.exec1(absl::StrCat("SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('",
                                kMark, "', true), pg_catalog.getdatabaseencoding()"));
    is_own_ = row[0].as<int>() == greeted_by_;
    encoding_ = row[2].as<std::string>();
    has_settings_ = is_own_ && !row[1].is_null() && row[1].as<std::string>() == "1";
  });
}

void Session::MakeSettings(pqxx::transaction_base& transaction) const {
  if (has_settings_) return;
  std::vector<std::string> calls;
  for (const auto& [name, value] : settings_) {
    calls.push_back(
        absl::StrCat("pg_catalog.set_config('", name, "', ", transaction.quote(value), ", true)"));
  }
  transaction.exec(absl::StrCat("SELECT ", absl::StrJoin(calls, ", ")));
}

std::string Session::Note() const { return is_own_ ? "" : std::string(kLeadsThroughPooler); }

// The farewell to a server that hangs must not wait for room to be sent.
Session::~Session() {
  if (is_broken_) shutdown(socket_.number(), SHUT_RDWR);
  connection_ = nullptr;
}

bool Session::is_broken() const {
  if (is_broken_) return true;
  // There may be something to be read before the end: why the server ends.
  pollfd farewell{.fd = socket_.number(), .events = POLLRDHUP, .revents = 0};
  return poll(&farewell, 1, 0) > 0;
}

absl::Status Session::Do(const Deadline& deadline,
                         absl::FunctionRef<void(AdoptedConnection&)> work) {
  const absl::Duration left = deadline.Left();
  if (left <= absl::ZeroDuration()) {
    return absl::UnavailableError(absl::StrCat("no time was left to ask ", store_));
  }
  watchdog_.Arm(socket_.number(), left);
  absl::Status status;
  try {
    work(*connection_);
  } catch (...) {
    status = CaughtError();
  }
  const bool too_late = watchdog_.Disarm();
  is_broken_ = is_broken_ || too_late || !connection_->is_open();
  if (status.ok() || !too_late) return status;
  return absl::UnavailableError(absl::StrCat("the server of ", store_, " did not answer in time"));
}

absl::Status Session::Transact(const Deadline& deadline,
                               absl::FunctionRef<void(pqxx::work&)> work) {
  return Do(deadline, [&](AdoptedConnection& connection) {
    pqxx::work transaction(connection);
    MakeSettings(transaction);
    work(transaction);
    transaction.commit();
  });
}

absl::Status Session::RunStatement(const Deadline& deadline,
                                   absl::FunctionRef<void(pqxx::transaction_base&)> work) {
  if (!has_settings_) return Transact(deadline, work);
  return Do(deadline, [&](AdoptedConnection& connection) {
    pqxx::nontransaction statement(connection);
    work(statement);
  });
}

}  // namespace headgate::postgres
