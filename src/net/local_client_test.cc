#include "net/local_client.h"

#include <gtest/gtest.h>

namespace hearth::net {
namespace {

bool takes(const std::string& url, const std::string& unix_path = "") {
  ClientRequest request;
  request.url = url;
  request.unix_path = unix_path;
  return LocalClient::takes(request);
}

TEST(LocalClient, TakesWhatGoesToThisMachineItself) {
  for (const char* url : {"http://127.0.0.1", "http://127.0.0.1:8470/x?y=z#w", "http://127.1.2.3/",
                          "http://[::1]:80/", "http://localhost:8470/a"})
    EXPECT_TRUE(takes(url)) << url;
  EXPECT_TRUE(takes("http://hearth/x", "/run/hearth.sock"));
}

TEST(LocalClient, LeavesTheRestToLibcurl) {
  for (const char* url :
       {"https://127.0.0.1/", "http://10.0.0.1/", "http://server:8470/", "http://127.example.org/",
        "http://x.localhost/", "http://user@127.0.0.1/", "http://127.0.0.1:port/",
        "http://127.0.0.1:99999/", "http://127.0.0.1/a b", "http://127.0.0.1/\xc3\xa4", "http://",
        "http://[::1", "http://[::2]/", "ftp://127.0.0.1/", "127.0.0.1"})
    EXPECT_FALSE(takes(url)) << url;
  EXPECT_FALSE(takes("https://hearth/x", "/run/hearth.sock"));
  EXPECT_FALSE(takes("http://hearth/x", std::string(200, 'x')));
  ClientRequest webhook;
  webhook.url = "http://127.0.0.1/";
  webhook.refuse_address = [](const std::string&) { return std::string(); };
  EXPECT_FALSE(LocalClient::takes(webhook));
}

}  // namespace
}  // namespace hearth::net
