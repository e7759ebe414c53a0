#include "server/serve/transport/guarded_files.h"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>

#include "server/serve/transport/header_guard.h"
#include "server/serve/transport/tls_greeting.h"

namespace headgate::transport {
namespace {

// A number is a place here. Only the pages of those that are used take memory.
constexpr size_t kMostFiles = size_t{1} << 20;

constinit CallBudgets budgets;
// release and acquire: who finds a guard finds it made.
constinit std::array<ConnectionGuard*, kMostFiles> guards = {};
std::atomic_ref<ConnectionGuard*> PlaceOf(size_t file) { return std::atomic_ref(guards[file]); }
// relaxed, both: they order nothing.
constinit std::atomic<bool> read_plaintext = false;
constinit std::atomic<bool> read_tls = false;

// The function that would be called if there were none here. relaxed: whoever finds none looks it
// up, and all find the same.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}

  template <typename... Arguments>
  auto operator()(Arguments... arguments) {
    Function* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]] {
      function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  const char* const name_;
  std::atomic<Function*> function_ = nullptr;
};

constinit Next<ssize_t(int, msghdr*, int)> next_recvmsg("recvmsg");
constinit Next<ssize_t(int, const msghdr*, int)> next_sendmsg("sendmsg");
constinit Next<int(int)> next_close("close");
constinit Next<int(SSL*, void*, int)> next_ssl_read("SSL_read");
constinit Next<int(SSL*, const void*, int)> next_ssl_write("SSL_write");

ConnectionGuard* GuardOf(int fd) {
  const auto place = static_cast<size_t>(fd);
  return place < kMostFiles ? PlaceOf(place).load(std::memory_order_acquire) : nullptr;
}

// Nobody uses a file that is being closed, nor its guard.
void Forget(int fd) {
  if (GuardOf(fd) != nullptr) delete PlaceOf(static_cast<size_t>(fd)).exchange(nullptr);
}

bool Guard(int fd, std::unique_ptr<ConnectionGuard> guard) {
  if (fd < 0 || static_cast<size_t>(fd) >= kMostFiles) return false;
  delete PlaceOf(static_cast<size_t>(fd)).exchange(guard.release());
  return true;
}

void NoteRead(std::atomic<bool>& read) {
  // Once, so that threads do not take it from each other.
  if (!read.load(std::memory_order_relaxed)) read.store(true, std::memory_order_relaxed);
}

// Calls `visit` with each part of a message, of which so many bytes are, until it says no.
template <typename Visit>
bool ForEachPart(const msghdr& message, ssize_t bytes, Visit visit) {
  auto left = static_cast<size_t>(bytes);
  for (size_t i = 0; i < message.msg_iovlen && left > 0; ++i) {
    const size_t some = std::min(left, message.msg_iov[i].iov_len);
    if (!visit(std::string_view(static_cast<const char*>(message.msg_iov[i].iov_base), some))) {
      return false;
    }
    left -= some;
  }
  return true;
}

// Of a TLS connection that is not guarded.
constinit char unguarded = 0;

void FreeGuard(void* /*ssl*/, void* guard, CRYPTO_EX_DATA* /*all*/, int /*index*/, long /*number*/,
               void* /*argument*/) {  // NOLINT(google-runtime-int): as OpenSSL has it
  if (guard != &unguarded) delete static_cast<HeaderGuard*>(guard);
}

// Below zero: there is none.
int TlsIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &FreeGuard);
  return index;
}

// The server of the HTTP port does not speak HTTP/2.
bool IsHttp2Server(const SSL* ssl) {
  if (SSL_is_server(ssl) == 0) return false;
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &name, &size);
  const std::string_view protocol(reinterpret_cast<const char*>(name), size);
  // The second is gRPC's own name for it.
  return protocol == "h2" || protocol == "grpc-exp";
}

// Null: it is not guarded. Whoever has bytes of it has agreed on a protocol. gRPC, as everybody has
// to, uses it from one thread at a time.
HeaderGuard* GuardOf(SSL* ssl) {
  void* guard = SSL_get_ex_data(ssl, TlsIndex());
  if (guard == nullptr) [[unlikely]] {
    guard = IsHttp2Server(ssl) ? static_cast<void*>(new HeaderGuard(budgets)) : &unguarded;
    SSL_set_ex_data(ssl, TlsIndex(), guard);
  }
  return guard == &unguarded ? nullptr : static_cast<HeaderGuard*>(guard);
}

}  // namespace

bool GuardConnection(int fd) { return Guard(fd, std::make_unique<HeaderGuard>(budgets)); }

std::shared_ptr<const std::atomic<bool>> GuardGreeting(int fd) {
  auto is_over = std::make_shared<std::atomic<bool>>(false);
  return Guard(fd, std::make_unique<TlsGreeting>(is_over)) ? is_over : nullptr;
}

bool HasReadGuarded(Encryption encryption) {
  const std::atomic<bool>& read = encryption == Encryption::kNone ? read_plaintext : read_tls;
  return read.load(std::memory_order_relaxed);
}

int64_t CountEndedForHeaders() { return budgets.refused(); }

int64_t BytesOfOpenCalls() { return budgets.all.taken(); }

void NextTurnOfCalls() { budgets.NextTurn(); }

}  // namespace headgate::transport

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  using namespace headgate::transport;  // NOLINT(google-build-using-namespace): it is in extern "C"
  const ssize_t bytes = next_recvmsg(fd, message, flags);
  ConnectionGuard* const guard = GuardOf(fd);
  if (guard == nullptr || bytes <= 0 || (flags & (MSG_ERRQUEUE | MSG_PEEK)) != 0) return bytes;
  if (guard->SeesFrames()) NoteRead(read_plaintext);
  if (ForEachPart(*message, bytes, [&](std::string_view part) { return guard->Receive(part); })) {
    return bytes;
  }
  errno = ECONNRESET;
  return -1;
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  using namespace headgate::transport;  // NOLINT(google-build-using-namespace): likewise
  const ssize_t bytes = next_sendmsg(fd, message, flags);
  ConnectionGuard* const guard = GuardOf(fd);
  if (guard == nullptr || bytes <= 0) return bytes;
  ForEachPart(*message, bytes, [&](std::string_view part) {
    guard->Send(part);
    return true;
  });
  return bytes;
}

extern "C" int close(int fd) {
  headgate::transport::Forget(fd);
  return headgate::transport::next_close(fd);
}

extern "C" int SSL_read(SSL* ssl, void* buffer, int size) {
  using namespace headgate::transport;  // NOLINT(google-build-using-namespace): likewise
  const int bytes = next_ssl_read(ssl, buffer, size);
  if (bytes <= 0) return bytes;
  HeaderGuard* const guard = GuardOf(ssl);
  if (guard == nullptr) return bytes;
  NoteRead(read_tls);
  if (guard->Receive({static_cast<const char*>(buffer), static_cast<size_t>(bytes)})) return bytes;
  // So SSL_get_error says SSL_ERROR_SSL, after which the connection cannot be used.
  ERR_raise(ERR_LIB_SSL, SSL_R_EXCESSIVE_MESSAGE_SIZE);
  return -1;
}

extern "C" int SSL_write(SSL* ssl, const void* buffer, int size) {
  using namespace headgate::transport;  // NOLINT(google-build-using-namespace): likewise
  const int bytes = next_ssl_write(ssl, buffer, size);
  if (bytes <= 0) return bytes;
  if (HeaderGuard* const guard = GuardOf(ssl); guard != nullptr) {
    guard->Send({static_cast<const char*>(buffer), static_cast<size_t>(bytes)});
  }
  return bytes;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
