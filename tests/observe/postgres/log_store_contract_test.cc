#include "tests/testing/log_store_contract.h"

#include "tests/observe/postgres/log_store_fixture.h"

namespace headgate {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, LogStoreContract, postgres::LogDatabase);

}  // namespace
}  // namespace headgate
