// Where a call came from, as its connection has proved it.
//
// A pure function. It costs some hundred nanoseconds.
//
//   if (IsPlaintext(context)) return Refuse();

#ifndef HEADGATE_SERVER_TRANSPORT_CALL_ORIGIN_H_
#define HEADGATE_SERVER_TRANSPORT_CALL_ORIGIN_H_

#include <grpcpp/server_context.h>

namespace headgate::transport {

// Whether nothing encrypts the connection.
bool IsPlaintext(const grpc::ServerContextBase& context);

}  // namespace headgate::transport

#endif  // HEADGATE_SERVER_TRANSPORT_CALL_ORIGIN_H_
