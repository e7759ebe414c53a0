// A folder that is empty at first, and gone with all that is in it at the end of the test.
#ifndef HEADGATE_TESTS_TESTING_TEMP_FOLDER_H_
#define HEADGATE_TESTS_TESTING_TEMP_FOLDER_H_

#include <cstdlib>
#include <filesystem>
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

 private:
  std::filesystem::path path_;
};

}  // namespace headgate

#endif  // HEADGATE_TESTS_TESTING_TEMP_FOLDER_H_
