// Bytes that neighbours send.

#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::bench {

inline std::string Times(size_t count, std::string_view text) {
  std::string all;
  all.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// 60 kB that become 60 MiB for whoever inflates them. Its sender makes it once.
inline std::string Bomb() {
  const std::string zeros(size_t{60} << 20, '\0');
  uLongf size = compressBound(zeros.size());
  std::string bomb(size, '\0');
  compress2(reinterpret_cast<Bytef*>(bomb.data()), &size,
            reinterpret_cast<const Bytef*>(zeros.data()), zeros.size(), Z_BEST_COMPRESSION);
  bomb.resize(size);
  return bomb;
}

// The same in each run, and others with each call.
class RandomBytes {
 public:
  std::string Next(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) {
      state_ = state_ * 1'664'525 + 1'013'904'223;
      byte = static_cast<char>(state_ >> 24);
    }
    return bytes;
  }

 private:
  uint32_t state_ = 1;
};

}  // namespace headgate::bench
