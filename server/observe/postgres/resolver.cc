#include "server/observe/postgres/resolver.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace headgate::postgres {

absl::StatusOr<std::vector<std::string>> LookupBySystem(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("host ", host, " is not found: ", gai_strerror(error)));
  }
  std::vector<std::string> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text);
    }
  }
  freeaddrinfo(list);
  return addresses;
}

// Shared by the thread that looks up and those that wait.
struct Resolver::UnderWay {
  void Finish(absl::StatusOr<std::vector<std::string>> found) {
    {
      MutexLock lock(&mutex);
      done = true;
      addresses = std::move(found);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(done_event.number(), &one, sizeof(one));
  }

  bool IsDone() {
    MutexLock lock(&mutex);
    return done;
  }

  const FileDescriptor done_event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // readable once done
  Mutex mutex;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::StatusOr<std::vector<std::string>> addresses ABSL_GUARDED_BY(mutex);
};

Resolver::Resolver(HostLookup lookup) : lookup_(std::move(lookup)) {}
Resolver::~Resolver() = default;

absl::StatusOr<std::shared_ptr<Resolver::UnderWay>> Resolver::Begin(const std::string& host) const {
  auto begun = std::make_shared<UnderWay>();
  try {
    std::thread([begun, host, lookup = lookup_] { begun->Finish(lookup(host)); }).detach();
  } catch (const std::system_error& error) {
    return absl::UnavailableError(absl::StrCat("no thread to look up ", host, ": ", error.what()));
  }
  return begun;
}

absl::StatusOr<std::shared_ptr<Resolver::UnderWay>> Resolver::Join(const std::string& host) {
  MutexLock lock(&mutex_);
  const auto found = under_way_.find(host);
  // What was given up and came in since may be out of date.
  if (found != under_way_.end() && !found->second->IsDone()) return found->second;
  absl::StatusOr<std::shared_ptr<UnderWay>> begun = Begin(host);
  if (begun.ok()) under_way_[host] = *begun;
  return begun;
}

absl::StatusOr<std::vector<std::string>> Resolver::Resolve(const std::string& host,
                                                           const SocketWaiter& waiter,
                                                           const Deadline& deadline) {
  absl::StatusOr<std::shared_ptr<UnderWay>> lookup = Join(host);
  if (!lookup.ok()) return lookup.status();
  if (absl::Status status = waiter.Wait((*lookup)->done_event.number(), POLLIN, deadline);
      !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("looking up host ", host, ": ", status.message()));
  }
  {
    MutexLock lock(&mutex_);
    const auto found = under_way_.find(host);
    if (found != under_way_.end() && found->second == *lookup) under_way_.erase(found);
  }
  MutexLock lock(&(*lookup)->mutex);
  return (*lookup)->addresses;
}

}  // namespace headgate::postgres
