#include "server/postgres/session.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/postgres/sql_error.h"

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
  return {.defaults = {{"keepalives_idle", "10"},
                       {"keepalives_interval", "5"},
                       {"keepalives_count", "3"},
                       {"tcp_user_timeout", limit}},
          .settings = {{"statement_timeout", limit},
                       {"lock_timeout", absl::StrCat(lock_ms)},
                       {"TimeZone", "UTC"},
                       {"jit", "off"},
                       {"client_min_messages", "error"}}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Open(Connector& connector,
                                                       const SessionOptions& options,
                                                       const Deadline& deadline) {
  absl::StatusOr<PgConnection> opened = connector.Open(options.dsn, OptionsFor(options), deadline);
  if (absl::IsDeadlineExceeded(opened.status())) {
    return absl::UnavailableError(opened.status().message());
  }
  if (!opened.ok()) return opened.status();
  std::unique_ptr<Session> session(new Session(options.store));
  session->socket_ = FileDescriptor(fcntl(PQsocket(opened->get()), F_DUPFD_CLOEXEC, 0));
  if (!session->socket_.ok()) return absl::ErrnoToStatus(errno, "the socket of a session");
  // libpqxx waits for each call, and shows what it is told as it stands.
  PQsetnonblocking(opened->get(), 0);
  PQsetErrorVerbosity(opened->get(), PQERRORS_DEFAULT);
  try {
    session->connection_ = std::make_unique<AdoptedConnection>(*std::move(opened));
  } catch (...) {
    return CaughtError();
  }
  return session;
}

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
    work(transaction);
    transaction.commit();
  });
}

}  // namespace headgate::postgres
