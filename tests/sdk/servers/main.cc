// headgate-two-servers FOLDER: two servers for the scenarios of SDKs in other languages.
//
// It prints the port of the first one, and then answers each line of its standard input with one of
// its own, until that ends.

#include <iostream>
#include <string>

#include "tests/sdk/servers/two_servers.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: headgate-two-servers FOLDER\n";
    return 2;
  }
  headgate::client::TwoServers servers(argv[1]);
  const std::string address = servers.address();
  std::cout << address.substr(address.rfind(':') + 1) << std::endl;
  for (std::string what; std::getline(std::cin, what);) {
    std::cout << servers.Do(what) << std::endl;
  }
  return 0;
}
