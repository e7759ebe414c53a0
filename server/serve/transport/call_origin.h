// Where a call came from, as its connection has proved it.
//
// gRPC keeps one authentication context for each connection; a CallOrigin holds a reference to it,
// so that its address can be no other connection's meanwhile. Thread-compatible; it must be
// destroyed before gRPC shuts down. It costs some tens of nanoseconds, and reading names a
// thousand.
//
//   const CallOrigin origin(context);
//   if (!origin.IsTls()) return Refuse();

#pragma once

#include <grpc/grpc_security.h>
#include <grpcpp/server_context.h>

#include <string>
#include <utility>
#include <vector>

namespace headgate::transport {

class CallOrigin {
 public:
  CallOrigin() = default;  // of no call
  explicit CallOrigin(grpc::ServerContext& context);
  CallOrigin(CallOrigin&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}
  CallOrigin& operator=(CallOrigin&& other) noexcept {
    std::swap(context_, other.context_);
    return *this;
  }
  ~CallOrigin() {
    if (context_ != nullptr) grpc_auth_context_release(context_);
  }

  // Whether TLS encrypts the connection.
  bool IsTls() const;
  // Of the caller's certificate, if one was verified, the URIs and then the hosts:
  // "URI:spiffe://a", "DNS:a.example".
  std::vector<std::string> CertificateNames() const;

  // The same for all calls of a connection; null: there is no connection.
  const void* connection() const { return context_; }

 private:
  grpc_auth_context* context_ = nullptr;
};

// Whether nothing encrypts the connection.
inline bool IsPlaintext(grpc::ServerContext& context) { return !CallOrigin(context).IsTls(); }

}  // namespace headgate::transport
