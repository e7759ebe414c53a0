#include "server/serve/transport/greetings.h"

namespace headgate::transport {

std::optional<int> Greetings::Add(int fd, IsOver is_over) {
  std::erase_if(under_way_, [](const auto& greeting) {
    return greeting.second->load(std::memory_order_relaxed);
  });
  std::optional<int> longest;
  if (under_way_.size() >= most_ && most_ > 0) {
    longest = under_way_.front().first;
    under_way_.erase(under_way_.begin());
  }
  under_way_.emplace_back(fd, std::move(is_over));
  return longest;
}

}  // namespace headgate::transport
