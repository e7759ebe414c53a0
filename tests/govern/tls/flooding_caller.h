// A caller that brings bytes as fast as they are taken, in plaintext or over TLS, until it is cut.
//
//   FloodingCaller caller(port, FloodingCaller::Over::kTls);
//   while (caller.Send(frames)) continue;

#pragma once

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <memory>
#include <string>

#include "tests/govern/tls/raw_caller.h"

namespace headgate::tls {

class FloodingCaller {
 public:
  enum class Over { kPlaintext, kTls };

  FloodingCaller(int port, Over over) : raw_(port) {
    // Whoever is not read gives up, as if it had been cut.
    const timeval patience = {.tv_sec = 5, .tv_usec = 0};
    setsockopt(raw_.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(raw_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (over == Over::kPlaintext) return;
    context_.reset(SSL_CTX_new(TLS_client_method()));
    constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context_.get(), kHttp2, sizeof(kHttp2));
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), raw_.fd());
    is_open_ = SSL_connect(session_.get()) == 1;
  }

  // False: it was cut. The program ignores SIGPIPE.
  bool Send(const std::string& bytes) {
    if (is_open_) {
      is_open_ = session_ == nullptr
                     ? raw_.SendAll(bytes)
                     : SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
    }
    return is_open_;
  }

  // What has come is not read, and lost to TLS.
  bool IsClosed() const { return raw_.IsClosed(); }

 private:
  template <auto kFree>
  struct Free {
    template <typename Of>
    void operator()(Of* of) const {
      kFree(of);
    }
  };

  const Raw raw_;
  std::unique_ptr<SSL_CTX, Free<&SSL_CTX_free>> context_;
  std::unique_ptr<SSL, Free<&SSL_free>> session_;
  bool is_open_ = true;
};

}  // namespace headgate::tls
