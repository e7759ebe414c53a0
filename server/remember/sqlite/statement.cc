#include "server/remember/sqlite/statement.h"

#include <sqlite3.h>

#include <cstddef>

#include "server/remember/sqlite/status.h"

namespace headgate::sqlite {

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);  // its result is that of the last step, which was told
}

void Statement::Note(int code) {
  if (code == SQLITE_OK || !bound_.ok()) return;
  bound_ = StatusOf(code, *path_, sqlite3_errmsg(sqlite3_db_handle(statement_.get())));
}

void Statement::BindInt(int parameter, int64_t value) {
  Note(sqlite3_bind_int64(statement_.get(), parameter, value));
}

void Statement::Bind(int parameter, double value) {
  Note(sqlite3_bind_double(statement_.get(), parameter, value));
}

// A null pointer would bind NULL, and an empty view may have one.
void Statement::Bind(int parameter, std::string_view text) {
  Note(sqlite3_bind_text64(statement_.get(), parameter, text.empty() ? "" : text.data(),
                           text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::BindNull(int parameter) { Note(sqlite3_bind_null(statement_.get(), parameter)); }

absl::StatusOr<bool> Statement::Step() {
  if (!bound_.ok()) return bound_;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return StatusOf(code, *path_, sqlite3_errmsg(sqlite3_db_handle(statement_.get())));
}

absl::Status Statement::RunBound() {
  return Each([] { return true; });
}

absl::Status Statement::Each(absl::FunctionRef<bool()> visit) {
  absl::StatusOr<bool> row = Step();
  while (row.ok() && *row && visit()) row = Step();
  Reset();
  return row.status();
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());  // its result is that of the last step, which was told
  bound_ = absl::OkStatus();
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::Double(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace headgate::sqlite
