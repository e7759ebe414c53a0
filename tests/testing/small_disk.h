// A file system of a megabyte or more, for as long as a test runs: to be filled, or made read-only.
//
// Mounting it takes root; ask is_mounted.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace headgate {

class SmallDisk {
 public:
  // At `folder`, which is made.
  explicit SmallDisk(const std::filesystem::path& folder, int mib = 1) : folder_(folder) {
    std::filesystem::create_directory(folder_);
    const std::string size = "size=" + std::to_string(mib) + "m";
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool is_mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return folder_; }
  std::string File(const std::string& name) const { return folder_ / name; }

  // To the last byte.
  void Fill() const {
    std::ofstream file(Filler());
    const std::string page(4096, 'x');
    while (file << page << std::flush) {
    }
  }
  void MakeRoom() const { std::filesystem::remove(Filler()); }

  // No file on it may be open for writing.
  void MakeReadOnly() const {
    EXPECT_EQ(mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  }

 private:
  std::filesystem::path Filler() const { return folder_ / "filler"; }

  const std::filesystem::path folder_;
  bool mounted_ = false;
};

}  // namespace headgate
