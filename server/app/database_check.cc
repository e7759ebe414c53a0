#include "server/app/database_check.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/app/connection_string.h"
#include "server/observe/postgres/connector.h"
#include "server/observe/postgres/encoding.h"
#include "server/observe/postgres/postgres_probe.h"
#include "server/observe/postgres/session.h"
#include "server/observe/postgres/socket_waiter.h"
#include "server/share/store/database_identity.h"

namespace headgate::app {
namespace {

using config::PostgresSource;

// More at once than there mostly are.
constexpr size_t kAskedAtOnce = 64;

// One database: as what it is asked, and what is to be said of it.
struct Question {
  std::string who;
  std::function<std::vector<std::string>(const std::string& dsn)> ask;
  PostgresSource source;
  std::vector<std::string> said = {};
};

// That nobody answered in time is no finding.
void AddError(const absl::Status& status, std::vector<std::string>& said) {
  if (status.ok() || absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return;
  said.emplace_back(status.message());
}

void AddNote(std::string note, std::vector<std::string>& said) {
  if (!note.empty()) said.push_back(std::move(note));
}

class Asking {
 public:
  Asking(absl::Duration timeout, Clock& clock) : timeout_(timeout), clock_(clock) {}

  void AddServer(std::string who, const std::optional<PostgresSource>& source,
                 postgres::ServerRole role) {
    if (!source.has_value()) return;
    questions_.push_back({std::move(who),
                          [this, role](const std::string& dsn) { return AskServer(dsn, role); },
                          *source});
  }
  void AddStore(std::string who, const PostgresSource& source) {
    questions_.push_back(
        {std::move(who), [this](const std::string& dsn) { return AskStore(dsn); }, source});
  }

  std::vector<std::string> Ask() {
    std::atomic<size_t> next{0};
    const auto work = [&] {
      // relaxed: each takes another one.
      for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < questions_.size();
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        Question& question = questions_[i];
        const absl::StatusOr<std::string> dsn = ReadConnectionString(question.source);
        if (dsn.ok()) question.said = question.ask(*dsn);
      }
    };
    std::vector<std::thread> threads;
    for (size_t i = 0; i < std::min(kAskedAtOnce, questions_.size()); ++i)
      threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    std::vector<std::string> lines;
    for (const Question& question : questions_) {
      for (const std::string& said : question.said) {
        lines.push_back(absl::StrCat(question.who, ": ", said));
        // A database may say anything.
        const auto controls = [](unsigned char c) { return absl::ascii_iscntrl(c); };
        std::replace_if(lines.back().begin(), lines.back().end(), controls, ' ');
      }
    }
    return lines;
  }

 private:
  std::vector<std::string> AskServer(const std::string& dsn, postgres::ServerRole role) const {
    postgres::PostgresProbe probe({.role = role, .dsn = [&] { return dsn; }, .timeout = timeout_},
                                  clock_);
    std::vector<std::string> said;
    AddError(probe.Poll({}).status(), said);
    AddNote(probe.Note(), said);
    return said;
  }

  std::vector<std::string> AskStore(const std::string& dsn) const {
    const postgres::SocketWaiter waiter;
    postgres::Connector connector(waiter);
    const postgres::Deadline deadline(clock_, timeout_);
    std::vector<std::string> said;
    auto session =
        postgres::Session::Open(connector, {.dsn = dsn, .statement_timeout = timeout_}, deadline);
    AddError(session.status(), said);
    if (!session.ok()) return said;
    AddNote((*session)->Note(), said);
    store::DatabaseIdentity database;
    AddError((*session)->Transact(
                 deadline, [&](pqxx::work& work) { database = store::ReadDatabaseIdentity(work); }),
             said);
    if (!database.encoding.empty() && !postgres::HoldsAnyText(database.encoding)) {
      said.push_back(absl::StrCat("database ", database.database, ": ",
                                  postgres::WhyNotAnyText(database.encoding)));
    }
    return said;
  }

  const absl::Duration timeout_;
  Clock& clock_;
  std::vector<Question> questions_;
};

}  // namespace

std::vector<std::string> AskDatabases(const config::Config& config, absl::Duration timeout,
                                      Clock& clock) {
  using postgres::ServerRole;
  Asking asking(timeout, clock);
  for (const config::TargetSettings& target : config.targets) {
    const std::string name = absl::StrCat("target ", target.name, ", ");
    asking.AddServer(name + "primary", target.primary, ServerRole::kPrimary);
    for (size_t i = 0; i < target.standby_sources.size(); ++i) {
      asking.AddServer(absl::StrCat(name, "standby ", target.standbys[i].name),
                       target.standby_sources[i], ServerRole::kStandby);
    }
  }
  if (config.throttle_log.postgres.has_value()) {
    asking.AddStore("throttle_log", *config.throttle_log.postgres);
  }
  if (config.cluster.has_value()) asking.AddStore("cluster.store", config.cluster->store);
  return asking.Ask();
}

}  // namespace headgate::app
