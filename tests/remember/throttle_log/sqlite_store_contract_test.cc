#include <memory>
#include <string>
#include <utility>

#include "server/remember/throttle_log/sqlite_store.h"
#include "tests/testing/log_store_contract.h"
#include "tests/testing/temp_folder.h"

namespace headgate {
namespace {

using throttle_log::SqliteStore;

class SqliteMaker {
 public:
  std::unique_ptr<throttle_log::Store> Open(const throttle_log::Retention& retention) {
    absl::StatusOr<std::unique_ptr<SqliteStore>> store =
        SqliteStore::Open(folder_.File("log.db"), retention);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

 private:
  TempFolder folder_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, LogStoreContract, SqliteMaker);

}  // namespace
}  // namespace headgate
