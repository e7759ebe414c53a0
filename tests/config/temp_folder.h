// A temporary folder, and the ways in which people change files.

#ifndef HEADGATE_TESTS_CONFIG_TEMP_FOLDER_H_
#define HEADGATE_TESTS_CONFIG_TEMP_FOLDER_H_

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/temp_folder.h"

namespace headgate::config {

class TempFolder : public headgate::TempFolder {
 public:
  // Truncates and writes the file itself.
  void WriteInPlace(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name) << text;
  }

  // Writes another file and renames it over, as most editors do.
  void RenameOver(const std::string& name, const std::string& text) const {
    WriteInPlace(name + ".new", text);
    std::filesystem::rename(path() / (name + ".new"), path() / name);
  }

  void Remove(const std::string& name) const { std::filesystem::remove(path() / name); }

  // As a Kubernetes volume does: `name` points into ..data, which points to a folder of its own for
  // each version and is swapped.
  void SwapVersion(const std::string& name, const std::string& version,
                   const std::string& text) const {
    const std::string folder = "..version_" + version;
    std::filesystem::create_directory(path() / folder);
    WriteInPlace(folder + "/" + name, text);
    std::filesystem::create_directory_symlink(folder, path() / "..data_tmp");
    std::filesystem::rename(path() / "..data_tmp", path() / "..data");
    if (!std::filesystem::is_symlink(path() / name)) {
      std::filesystem::create_symlink("..data/" + name, path() / name);
    }
  }
};

}  // namespace headgate::config

#endif  // HEADGATE_TESTS_CONFIG_TEMP_FOLDER_H_
