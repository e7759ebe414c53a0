// Stream: the bytes of one connection, in plaintext or over TLS.
//
// Its handlers are called on the thread of its socket's io_context, and never by the functions
// themselves. At most one read and one write run at a time. Not thread-safe.
//
//   std::unique_ptr<Stream> stream = MakePlainStream(std::move(socket));
//   stream->Handshake([](error_code error, size_t) { ... });
//   stream->Read(buffer.prepare(2048), [](error_code error, size_t size) { ... });

#pragma once

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headgate::http {

class Stream {
 public:
  using Error = boost::system::error_code;
  using Done = std::function<void(Error error, size_t bytes)>;

  virtual ~Stream() = default;

  // Before anything else. The rest is known then.
  virtual void Handshake(Done done) = 0;
  virtual void Read(boost::asio::mutable_buffer into, Done done) = 0;
  // All of it.
  virtual void Write(boost::asio::const_buffer bytes, Done done) = 0;
  // As much as goes without waiting, which may be nothing. No write runs.
  virtual size_t TryWrite(boost::asio::const_buffer bytes, Error& error) = 0;
  // Tells the other end that nothing more comes. Of TLS `done` is called when that has said the
  // same, of plaintext never: whoever wants to know reads.
  virtual void EndWriting(std::function<void()> done) = 0;
  // What runs ends with an error.
  virtual void Close() = 0;

  virtual bool is_tls() const = 0;
  // Of the verified certificate: see Peer.
  virtual std::vector<std::string> CertificateNames() const = 0;
};

std::unique_ptr<Stream> MakePlainStream(boost::asio::ip::tcp::socket socket);
// Over TLS, if that is how the other end begins; else in plaintext. The context is shared with it.
std::unique_ptr<Stream> MakeEitherStream(boost::asio::ip::tcp::socket socket,
                                         std::shared_ptr<SSL_CTX> context);

}  // namespace headgate::http
