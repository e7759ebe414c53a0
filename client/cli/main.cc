#include "client/cli/commands.h"

int main(int argc, char** argv) {
  return headgate::cli::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
