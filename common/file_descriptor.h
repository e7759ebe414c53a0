// FileDescriptor: owns an open file of the kernel's, and closes it.
//
// Thread-compatible.
//
//   const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
//   if (!file.ok()) return absl::ErrnoToStatus(errno, path);

#pragma once

#include <unistd.h>

#include <utility>

namespace headgate {

class FileDescriptor {
 public:
  FileDescriptor() = default;  // of nothing
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      Close();
      number_ = other.Release();
    }
    return *this;
  }
  ~FileDescriptor() { Close(); }

  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }
  int Release() { return std::exchange(number_, -1); }
  void Close() {
    if (ok()) close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace headgate
