#include "server/govern/access/digest.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <memory>

#include "common/freed.h"

namespace headgate::access {
namespace {

// Lives as long as the process.
const EVP_MD* Sha256() {
  static const EVP_MD* const kFetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return kFetched;
}

}  // namespace

Digest DigestOf(std::string_view text) {
  thread_local const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
  Digest digest;
  const bool done = context != nullptr &&
                    EVP_DigestInit_ex2(context.get(), Sha256(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), text.data(), text.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  // Without SHA-256 or memory for it nobody can be told from anybody else.
  if (!done) std::abort();
  return digest;
}

}  // namespace headgate::access
