// Page: the files of the web page, which client/web makes and CMake embeds, gzipped.
//
//   /          the document, which is nothing but its head
//   /page.js   all of its code
//   /page.css  all of its style
//
// They hold nothing that is anybody's: what the page shows it asks the API for, as its reader. So
// they are sent to whoever asks, but over TLS alone where the API is. Its Content-Security-Policy
// lets it load these files, call this server and nothing else, run no script that is in a text, and
// be in no frame.
//
// Belongs to the port's thread, as does the handler that answers everything else, which outlives
// it.
//
//   Page page(gateway, {.requires_tls = true});
//   ... page.Handle(request, response, exchange) ...

#pragma once

#include "server/serve/http/handler.h"

namespace headgate::web {

struct PageOptions {
  bool requires_tls = false;  // whether it is refused in plaintext
};

class Page final : public http::Handler {
 public:
  Page(http::Handler& others, const PageOptions& options) : others_(others), options_(options) {}

  bool Handle(const http::Request& request, http::Response& response,
              http::Exchange& exchange) override;
  void OnRefused(int status) override { others_.OnRefused(status); }

 private:
  http::Handler& others_;
  const PageOptions options_;
};

}  // namespace headgate::web
