// What headgated is called with.
//
// Thread-compatible.
//
//   CLI::App cli("Headgate's server", "headgated");
//   Flags flags;
//   DeclareFlags(cli, flags);
//   cli.parse(argc, argv);

#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "server/app/server.h"
#include "server/app/store_command.h"

namespace headgate::app {

struct Flags {
  ServerOptions server;
  std::string check_config;
  bool ask_databases = false;
  StoreCommand store;
  std::string log_level = "info";
  std::string log_format = "text";
  std::string http_address = "127.0.0.1:8080";
  std::string reference;  // the form that only the reference is printed in; empty: none
};

// Parsing writes into the flags.
void DeclareFlags(CLI::App& cli, Flags& flags);

// The manual page, completion or Markdown of the flags.
std::string FlagsReference(const CLI::App& cli, const std::string& form);

}  // namespace headgate::app
