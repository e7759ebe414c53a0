#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "client/cli/commands.h"

// Ends without the cleaning up of libraries: threads of gRPC may still be within OpenSSL, whose
// state exit() would take away from under them.
int main(int argc, char** argv) {
  const int status =
      headgate::cli::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  std::_Exit(status);
}
