// AdoptedConnection: a connection of libpqxx that somebody else has opened.
//
// libpqxx can neither be made to give up a connect, nor tells its socket before it has one. So
// Connector opens, and libpqxx does from then on what it is good at. It closes the connection, and
// never makes another in its place: what is lost stays lost, and says so.
//
// This is the one file that knows which libpqxx there is. Thread-compatible. Throws as libpqxx
// does.
//
//   AdoptedConnection connection(std::move(opened));
//   pqxx::work work(connection);
#pragma once

#include <libpq-fe.h>

#include <pqxx/connection>
#include <utility>

#include "server/observe/postgres/libpq.h"

namespace headgate::postgres {

#if PQXX_VERSION_MAJOR >= 7

class AdoptedConnection final : public pqxx::connection {  // 7.3 or newer
 public:
  explicit AdoptedConnection(PgConnection opened)
      : pqxx::connection(seize_raw_connection(opened.release())) {}
};

#else

// Hands the connection over when libpqxx asks for its first one. A second one there is not.
class AdoptingPolicy : public pqxx::connectionpolicy {
 public:
  explicit AdoptingPolicy(PgConnection opened)
      : pqxx::connectionpolicy(""), opened_(std::move(opened)) {}

  handle do_startconnect(handle current) override {
    return current == nullptr ? opened_.release() : current;
  }

 private:
  PgConnection opened_;
};

// The policy is the first base, as the other one takes a reference to it.
class AdoptedConnection final : private AdoptingPolicy, public pqxx::connection_base {
 public:
  explicit AdoptedConnection(PgConnection opened)
      : AdoptingPolicy(std::move(opened)),
        pqxx::connection_base(static_cast<pqxx::connectionpolicy&>(*this)) {
    try {
      init();
      ForbidReconnecting();
    } catch (...) {
      close();
      throw;
    }
  }
  ~AdoptedConnection() override { close(); }

 private:
  // Where BEGIN cannot even be sent, libpqxx would have libpq connect again, by no deadline and
  // without our settings. Today's libpq does not let it come to that.
  void ForbidReconnecting() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    inhibit_reactivation(true);
#pragma GCC diagnostic pop
  }
};

#endif

}  // namespace headgate::postgres
