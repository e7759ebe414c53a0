// What gRPC reads and writes of connections to the server, looked at before gRPC has it.
//
// gRPC 1.51 reads a connection with `recvmsg` and writes it with `sendmsg`, and what TLS has
// deciphered with `SSL_read` and `SSL_write`. This program has functions of these names itself, and
// of `close`, which libraries find before those of the C library and of OpenSSL. They call the next
// ones, and show what came and went to the connection's guard. Where that refuses, gRPC is
// told that the other end has reset the connection, or of TLS that it does not hold, and ends it.
//
// A connection in plaintext has a HeaderGuard from GuardConnection until it is closed, and one over
// TLS where TLS has agreed on HTTP/2 as a server; until then GuardGreeting's sees how far its
// handshake is. Everything else, such as connections that this
// process opens itself, goes through for the price of looking its number up. docs/adr/0038 has the
// reasons.
//
// Thread-safe.
//
//   if (!GuardConnection(fd)) return;  // before it is handed to gRPC
//   ... HasReadGuarded(Encryption::kNone) once there was a call ...

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace headgate::transport {

enum class Encryption : uint8_t { kNone, kTls };

// A connection in plaintext, before gRPC has it. False: it cannot be guarded, as its number is too
// large.
bool GuardConnection(int fd);

// Likewise one that speaks TLS. Becomes true when its handshake is over, or it is closed; null: it
// cannot be guarded.
std::shared_ptr<const std::atomic<bool>> GuardGreeting(int fd);

// Whether anything has been read of a connection to a server in this process that was guarded. Once
// there was a call and that is not so, gRPC reads in another way than is known here.
bool HasReadGuarded(Encryption encryption);

// Connections of this process that were ended for their headers, ever.
int64_t CountEndedForHeaders();

// What open calls of guarded connections take of gRPC's memory, and their headers; calls that were
// reset are among them for a while: until the turn after the next one, of which there are to be
// some in a second.
int64_t BytesOfOpenCalls();
void NextTurnOfCalls();

}  // namespace headgate::transport
