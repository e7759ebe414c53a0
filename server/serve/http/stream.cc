#include "server/serve/http/stream.h"

#include <openssl/x509v3.h>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace headgate::http {
namespace {

using boost::asio::ip::tcp;

class PlainStream final : public Stream {
 public:
  explicit PlainStream(tcp::socket socket) : socket_(std::move(socket)) {}

  // There is none, but nobody is called before this returns.
  void Handshake(Done done) override {
    socket_.async_wait(tcp::socket::wait_write,
                       [done = std::move(done)](Error error) { done(error, 0); });
  }
  void Read(boost::asio::mutable_buffer into, Done done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void Write(boost::asio::const_buffer bytes, Done done) override {
    boost::asio::async_write(socket_, bytes, std::move(done));
  }
  size_t TryWrite(boost::asio::const_buffer bytes, Error& error) override {
    const size_t sent = socket_.write_some(bytes, error);
    if (error == boost::asio::error::would_block) error = {};
    return sent;
  }
  void EndWriting(std::function<void()> /*done*/) override {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  void Close() override {
    Error ignored;
    socket_.close(ignored);
  }
  bool is_tls() const override { return false; }
  std::vector<std::string> CertificateNames() const override { return {}; }

 private:
  tcp::socket socket_;
};

// Of the URIs and hosts that the certificate is for, the URIs first, as gRPC lists them.
std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> uris, hosts;
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    const ASN1_IA5STRING* const text = name->d.ia5;
    const std::string value(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                            static_cast<size_t>(ASN1_STRING_length(text)));
    name->type == GEN_URI ? uris.push_back("URI:" + value) : hosts.push_back("DNS:" + value);
  }
  GENERAL_NAMES_free(names);
  uris.insert(uris.end(), hosts.begin(), hosts.end());
  return uris;
}

class TlsStream final : public Stream {
 public:
  TlsStream(tcp::socket socket, const std::shared_ptr<SSL_CTX>& context)
      : context_(Referenced(context.get())), stream_(std::move(socket), context_) {}

  void Handshake(Done done) override {
    stream_.async_handshake(boost::asio::ssl::stream_base::server,
                            [done = std::move(done)](Error error) { done(error, 0); });
  }
  void Read(boost::asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void Write(boost::asio::const_buffer bytes, Done done) override {
    boost::asio::async_write(stream_, bytes, std::move(done));
  }
  size_t TryWrite(boost::asio::const_buffer /*bytes*/, Error& /*error*/) override { return 0; }
  void EndWriting(std::function<void()> done) override {
    stream_.async_shutdown([done = std::move(done)](Error /*error*/) { done(); });
  }
  void Close() override {
    Error ignored;
    stream_.next_layer().close(ignored);
  }
  bool is_tls() const override { return true; }
  std::vector<std::string> CertificateNames() const override {
    SSL* const ssl = const_cast<TlsStream*>(this)->stream_.native_handle();
    X509* const certificate = SSL_get1_peer_certificate(ssl);
    if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) {
      X509_free(certificate);
      return {};
    }
    std::vector<std::string> names = NamesOf(certificate);
    X509_free(certificate);
    return names;
  }

 private:
  // asio's context frees what it is given.
  static SSL_CTX* Referenced(SSL_CTX* context) {
    SSL_CTX_up_ref(context);
    return context;
  }

  boost::asio::ssl::context context_;
  boost::asio::ssl::stream<tcp::socket> stream_;
};

// What comes first tells which of the two it is.
class EitherStream final : public Stream {
 public:
  EitherStream(tcp::socket socket, std::shared_ptr<SSL_CTX> context)
      : socket_(std::move(socket)), context_(std::move(context)) {}

  void Handshake(Done done) override {
    socket_.async_wait(tcp::socket::wait_read, [this, done = std::move(done)](Error error) mutable {
      constexpr unsigned char kTlsHandshake = 0x16;
      unsigned char first = 0;
      if (!error) {
        socket_.receive(boost::asio::buffer(&first, 1), tcp::socket::message_peek, error);
      }
      if (error) return done(error, 0);
      if (first == kTlsHandshake) {
        stream_ = std::make_unique<TlsStream>(std::move(socket_), context_);
      } else {
        stream_ = std::make_unique<PlainStream>(std::move(socket_));
      }
      stream_->Handshake(std::move(done));
    });
  }
  void Read(boost::asio::mutable_buffer into, Done done) override {
    stream_->Read(into, std::move(done));
  }
  void Write(boost::asio::const_buffer bytes, Done done) override {
    stream_->Write(bytes, std::move(done));
  }
  size_t TryWrite(boost::asio::const_buffer bytes, Error& error) override {
    return stream_->TryWrite(bytes, error);
  }
  void EndWriting(std::function<void()> done) override { stream_->EndWriting(std::move(done)); }
  void Close() override {
    if (stream_ != nullptr) return stream_->Close();
    Error ignored;
    socket_.close(ignored);
  }
  bool is_tls() const override { return stream_ != nullptr && stream_->is_tls(); }
  std::vector<std::string> CertificateNames() const override {
    return stream_ == nullptr ? std::vector<std::string>() : stream_->CertificateNames();
  }

 private:
  tcp::socket socket_;  // until it is known
  std::shared_ptr<SSL_CTX> context_;
  std::unique_ptr<Stream> stream_;  // null: it is not
};

}  // namespace

std::unique_ptr<Stream> MakePlainStream(tcp::socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<Stream> MakeEitherStream(tcp::socket socket, std::shared_ptr<SSL_CTX> context) {
  return std::make_unique<EitherStream>(std::move(socket), std::move(context));
}

}  // namespace headgate::http
