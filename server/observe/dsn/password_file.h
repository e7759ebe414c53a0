// The file of passwords that libpq reads where a connection string has none: passfile, PGPASSFILE
// or ~/.pgpass.
//
// libpq passes over one that others may read, and over one that is no regular file, with a warning
// on standard error at every connect and no word in the connection's error; and over one that it
// may not read without any. Secrets that Kubernetes mounts for a group are of the first kind.
//
// Functions of the file system and the environment; nothing is kept.
//
//   if (std::string why = UnreadPasswordFile(*dsn); !why.empty()) ...  // libpq would not read it
#pragma once

#include <string>

#include "server/observe/dsn/dsn.h"

namespace headgate::dsn {

// Which file libpq does not read, and why; empty: it needs none, or reads it. One that is not there
// is said where the connection string, or PGPASSFILE, names it.
std::string UnreadPasswordFile(const Dsn& dsn);

}  // namespace headgate::dsn
