#include "client/cli/output/keys.h"

#include <array>
#include <cstddef>
#include <utility>

namespace headgate::cli {
namespace {

constexpr char kEscape = '\x1b';

// Behind the escape, as xterm, the Linux console and tmux send them.
constexpr std::array<std::pair<std::string_view, Key>, 14> kSequences = {{
    {"[A", Key::kUp},
    {"OA", Key::kUp},
    {"[B", Key::kDown},
    {"OB", Key::kDown},
    {"[5~", Key::kPageUp},
    {"[6~", Key::kPageDown},
    {"[H", Key::kHome},
    {"OH", Key::kHome},
    {"[1~", Key::kHome},
    {"[7~", Key::kHome},
    {"[F", Key::kEnd},
    {"OF", Key::kEnd},
    {"[4~", Key::kEnd},
    {"[8~", Key::kEnd},
}};

constexpr size_t kIncomplete = std::string_view::npos;

// Bytes of the sequence that `text` begins with, behind the escape; 0: the escape is all of it.
size_t SequenceBytes(std::string_view text) {
  if (text.empty()) return kIncomplete;
  if (text[0] == 'O') return text.size() < 2 ? kIncomplete : 2;
  if (text[0] != '[') return 0;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] >= '@' && text[i] <= '~') return i + 1;
  }
  return kIncomplete;
}

}  // namespace

std::vector<Key> KeyReader::Take(std::string_view typed) {
  rest_ += typed;
  std::vector<Key> keys;
  std::string_view left = rest_;
  while (!left.empty()) {
    if (left[0] != kEscape) {
      keys.push_back(CharacterKey(left[0]));
      left.remove_prefix(1);
      continue;
    }
    const size_t bytes = SequenceBytes(left.substr(1));
    if (bytes == kIncomplete) break;
    Key key = Key::kUnknown;
    for (const auto& [sequence, meant] : kSequences) {
      if (left.substr(1, bytes) == sequence) key = meant;
    }
    keys.push_back(key);
    left.remove_prefix(1 + bytes);
  }
  rest_ = std::string(left);
  return keys;
}

}  // namespace headgate::cli
