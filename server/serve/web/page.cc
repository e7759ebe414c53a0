#include "server/serve/web/page.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/serve/web/page_files.h"

namespace headgate::web {
namespace {

constexpr char kHeaders[] =
    "Content-Encoding: gzip\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

void Refuse(int status, std::string why, http::Response& response) {
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(why);
}

}  // namespace

bool Page::Handle(const http::Request& request, http::Response& response,
                  http::Exchange& exchange) {
  const auto files = PageFiles();
  const auto file = std::find_if(files.begin(), files.end(), [&](const PageFile& candidate) {
    return candidate.path == request.path;
  });
  if (file == files.end()) return others_.Handle(request, response, exchange);
  if (!request.reads()) {
    response.allow = "GET, HEAD";
    Refuse(405, "only GET and HEAD\n", response);
  } else if (options_.requires_tls && !request.peer->is_tls) {
    Refuse(403, "this page is served over TLS: https://\n", response);
  } else {
    response.content_type = file->content_type;
    response.headers = kHeaders;
    response.body = file->gzipped;
  }
  return true;
}

}  // namespace headgate::web
