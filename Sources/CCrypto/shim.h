#pragma once
// SHA256_Init and its fellows are deprecated for EVP, which looks the digest up and allocates on each call: that takes
// longer than hashing a cache key does.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
