#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tests/bench/isolation/neighbours.h"
#include "tests/govern/tls/raw_caller.h"

namespace headgate::bench {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

// Trusts anybody, resumes nothing, and asks for HTTP/2, which the port for HTTP does not mind.
std::shared_ptr<Context> NewContext() {
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  Context context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof(kHttp2));
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return std::make_shared<Context>(std::move(context));
}

Session NewSession(const Context& context) { return {SSL_new(context.get()), &SSL_free}; }

// What a client says first.
std::string ClientHello(const Context& context) {
  const Session session = NewSession(context);
  SSL_set_bio(session.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_connect(session.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(session.get()), &bytes);
  return {bytes, static_cast<size_t>(size)};
}

// Full handshakes one after the other, each on a connection of its own.
Act HandshakesAt(int port) {
  return [port, context = NewContext()] {
    for (int i = 0; i < 5; ++i) {
      const tls::Raw raw(port);
      const Session session = NewSession(*context);
      SSL_set_fd(session.get(), raw.fd());
      SSL_connect(session.get());
    }
  };
}

// Connections that begin a handshake and say no more: half of the first message, or all of it, so
// that the server has signed and waits.
Act StalledHandshakesAt(int port) {
  constexpr size_t kConnections = 64;
  auto stalled = std::make_shared<std::deque<tls::Raw>>();
  return [=, hello = ClientHello(*NewContext()), turn = 0]() mutable {
    if (stalled->size() == kConnections) stalled->pop_front();
    stalled->emplace_back(port);
    const bool whole = turn++ % 2 == 0;
    stalled->back().Send(whole ? hello : hello.substr(0, hello.size() / 2));
  };
}

Act Handshakes(const AttackedServer& server) { return HandshakesAt(server.port); }
Act StalledHandshakes(const AttackedServer& server) { return StalledHandshakesAt(server.port); }
Act HttpHandshakes(const AttackedServer& server) { return HandshakesAt(server.http_port); }
Act StalledHttpHandshakes(const AttackedServer& server) {
  return StalledHandshakesAt(server.http_port);
}

constexpr auto kTlsNeighbours = std::to_array<Neighbour>({
    {"tls_handshakes", Handshakes, Neighbour::Over::kTls},
    {"stalled_tls_handshakes", StalledHandshakes, Neighbour::Over::kTls},
    {"http_tls_handshakes", HttpHandshakes, Neighbour::Over::kTls},
    {"http_stalled_handshakes", StalledHttpHandshakes, Neighbour::Over::kTls},
});

}  // namespace

std::span<const Neighbour> TlsNeighbours() { return kTlsNeighbours; }

}  // namespace headgate::bench
