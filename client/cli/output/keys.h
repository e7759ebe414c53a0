// Keys of a terminal, out of the bytes that it sends: arrows and the like are several.
//
//   for (const Key key : keys.Take("j\x1b[A")) ...  // 'j', kUp
//
// Thread-compatible.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headgate::cli {

// A key that is a character is this character.
enum class Key : int {
  kUnknown = 256,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
};
constexpr Key CharacterKey(char c) { return static_cast<Key>(static_cast<unsigned char>(c)); }

class KeyReader {
 public:
  // The keys that are complete by now. The rest comes with the next bytes.
  std::vector<Key> Take(std::string_view typed);

 private:
  std::string rest_;
};

}  // namespace headgate::cli
