// Freed: deletes what a C library hands out, by that library's own function.
//
// Stateless, so that a pointer with it is as small as one without.
//
//   using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
#pragma once

namespace headgate {

template <auto Free>
struct Freed {
  template <typename Object>
  void operator()(Object* object) const {
    Free(object);
  }
};

}  // namespace headgate
