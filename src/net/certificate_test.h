// For tests: a self-signed certificate for 127.0.0.1 and localhost, with its key.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/result.h"

namespace hearth::net {

class TestCertificate {
 public:
  explicit TestCertificate(const std::string& directory)
      : certificate_(directory + "/certificate.pem"), key_(directory + "/key.pem") {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> made(X509_new(), X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 24 * 3600);
    X509_set_pubkey(made.get(), key.get());
    X509_NAME* name = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("hearth test"), -1, -1, 0);
    X509_set_issuer_name(made.get(), name);
    add(made.get(), NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    add(made.get(), NID_basic_constraints, "critical,CA:TRUE");
    CHECK(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
    write(certificate_, [&](FILE* file) { return PEM_write_X509(file, made.get()); });
    write(key_, [&](FILE* file) {
      return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  const std::string& certificate_file() const { return certificate_; }
  const std::string& key_file() const { return key_; }

 private:
  static void add(X509* certificate, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    CHECK(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <typename Write>
  static void write(const std::string& path, Write&& how) {
    FILE* file = std::fopen(path.c_str(), "we");
    CHECK(file != nullptr && how(file) == 1);
    std::fclose(file);
  }

  std::string certificate_, key_;
};

}  // namespace hearth::net
