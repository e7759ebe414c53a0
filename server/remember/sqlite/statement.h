// Statement: one prepared SQL statement, to be bound, stepped and reset as often as wanted.
//
// What is bound is copied. An error stays with the statement until Reset, so that Step tells what a
// Bind before it met. Thread-compatible, together with its Database, which outlives it.
//
//   Statement insert = *database.Prepare("INSERT INTO people VALUES (?, ?)");
//   absl::Status status = insert.Run("Ann", 42);
//   Statement query = *database.Prepare("SELECT name, age FROM people WHERE age > ?");
//   query.BindAll(18);
//   status = query.Each([&] {
//     Use(query.Text(0), query.Int(1));
//     return true;
//   });
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3_stmt;

namespace headgate::sqlite {

class Statement {
 public:
  Statement() = default;  // may only be assigned to

  // Parameters count from 1.
  void Bind(int parameter, std::integral auto value) {
    BindInt(parameter, static_cast<int64_t>(value));
  }
  void Bind(int parameter, double value);
  void Bind(int parameter, std::string_view text);
  void BindNull(int parameter);

  // Resets, and binds the first parameters in turn.
  template <typename... Values>
  void BindAll(const Values&... values) {
    Reset();
    int parameter = 0;
    (Bind(++parameter, values), ...);
  }

  // True: there is a row, whose columns may be read until the next call. False: done.
  absl::StatusOr<bool> Step();

  // BindAll, then steps to the end, and resets: for what returns no rows.
  template <typename... Values>
  absl::Status Run(const Values&... values) {
    BindAll(values...);
    return RunBound();
  }
  absl::Status RunBound();

  // Steps through the rows until `visit` returns false or they end, then resets.
  absl::Status Each(absl::FunctionRef<bool()> visit);

  // Ends the reading, and with it the read transaction where there is no other. What is bound
  // stays bound.
  void Reset();

  // Of the current row; columns count from 0. NULL is 0 or empty. A text lives until the next Step
  // or Reset.
  int64_t Int(int column) const;
  double Double(int column) const;
  std::string_view Text(int column) const;
  bool IsNull(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  // Made on the heap by the database, so that it outlives a move of that.
  explicit Statement(sqlite3_stmt* statement, const std::string* path)
      : statement_(statement), path_(path) {}

  void BindInt(int parameter, int64_t value);
  void Note(int code);

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  const std::string* path_ = nullptr;
  absl::Status bound_;  // the first error of a Bind since Reset
};

}  // namespace headgate::sqlite
