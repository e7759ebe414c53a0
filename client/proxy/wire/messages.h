// Messages of PostgreSQL's protocol that a proxy has to know: their types, what it reads of some,
// and the few that it says itself.
//
// Pure functions.
//
//   if (frame.type == kReadyForQuery) status = StatusOfReady(frame.body);
//   answer = ErrorResponse({.sqlstate = "53000", .message = "held back for 10 s"});

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/proxy/wire/startup.h"

namespace headgate::proxy {

// A client's.
inline constexpr char kQuery = 'Q';
inline constexpr char kParse = 'P';
inline constexpr char kBind = 'B';
inline constexpr char kExecute = 'E';
inline constexpr char kDescribe = 'D';
inline constexpr char kClose = 'C';
inline constexpr char kFlush = 'H';
inline constexpr char kSync = 'S';
inline constexpr char kFunctionCall = 'F';
inline constexpr char kTerminate = 'X';
// Either's.
inline constexpr char kCopyData = 'd';
inline constexpr char kCopyDone = 'c';
inline constexpr char kCopyFail = 'f';  // a client's
// A server's.
inline constexpr char kAuthentication = 'R';
inline constexpr char kBackendKeyData = 'K';
inline constexpr char kParameterStatus = 'S';
inline constexpr char kReadyForQuery = 'Z';
inline constexpr char kDataRow = 'D';
inline constexpr char kCommandComplete = 'C';
inline constexpr char kErrorResponse = 'E';
inline constexpr char kNoticeResponse = 'N';
inline constexpr char kNotification = 'A';
inline constexpr char kCopyInResponse = 'G';
inline constexpr char kCopyOutResponse = 'H';
inline constexpr char kCopyBothResponse = 'W';

// A process and a secret of up to 256 bytes.
inline constexpr size_t kMaxKeyDataBytes = 260;

// Of a CommandComplete, in which the command is the first word.
inline constexpr size_t kMaxCommandBytes = 64;

// Where a session is between two units of work.
enum class TransactionStatus : char { kIdle = 'I', kInTransaction = 'T', kFailed = 'E' };

// None: the body is none of a ReadyForQuery.
std::optional<TransactionStatus> StatusOfReady(std::string_view body);
// None: the body is none of a BackendKeyData.
std::optional<CancelKey> KeyOf(std::string_view body);
// The text of a Query or a Parse, as far as it was looked at.
std::string_view StatementOf(char type, std::string_view body);

struct ErrorFields {
  bool ends_session = false;  // FATAL instead of ERROR
  std::string_view sqlstate;  // five characters
  std::string_view message;
  std::string_view detail = {};  // empty: none
  std::string_view hint = {};    // likewise
};
std::string ErrorResponse(const ErrorFields& fields);
std::string ReadyForQuery(TransactionStatus status);
// A cancel request for the session of this key.
std::string CancelRequest(const CancelKey& key);

// The code that PostgreSQL has for what Startup and Frames refuse.
std::string_view SqlStateOf(const absl::Status& refused);

}  // namespace headgate::proxy
