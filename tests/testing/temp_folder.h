// A folder that is empty at first, and gone with all that is in it at the end of the test; and the
// ways in which people change files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "gtest/gtest.h"

namespace headgate {

class TempFolder {
 public:
  TempFolder() {
    std::string name = testing::TempDir() + "headgate_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ / name; }

  // Truncates and writes the file itself.
  void WriteInPlace(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }

  // Writes another file and renames it over, as most editors do.
  void RenameOver(const std::string& name, const std::string& text) const {
    WriteInPlace(name + ".new", text);
    std::filesystem::rename(path_ / (name + ".new"), path_ / name);
  }

  void Remove(const std::string& name) const { std::filesystem::remove(path_ / name); }

  // As a Kubernetes volume does: `name` points into ..data, which points to a folder of its own for
  // each version and is swapped.
  void SwapVersion(const std::string& name, const std::string& version,
                   const std::string& text) const {
    const std::string folder = "..version_" + version;
    std::filesystem::create_directory(path_ / folder);
    WriteInPlace(folder + "/" + name, text);
    std::filesystem::create_directory_symlink(folder, path_ / "..data_tmp");
    std::filesystem::rename(path_ / "..data_tmp", path_ / "..data");
    if (!std::filesystem::is_symlink(path_ / name)) {
      std::filesystem::create_symlink("..data/" + name, path_ / name);
    }
  }

 private:
  std::filesystem::path path_;
};

}  // namespace headgate
