// What is in server/serve/web/page, gzipped, as it was when this was built: CMake makes it into
// arrays.

#pragma once

#include <span>
#include <string_view>

namespace headgate::web {

struct PageFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view gzipped;
};

std::span<const PageFile> PageFiles();

}  // namespace headgate::web
