#include "net/curl.h"

#include <mutex>
#include <optional>

#include <dlfcn.h>

#include "base/format.h"

namespace hearth::net {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";  // the name of its interface since 2006

Error unusable(const char* why) {
  return Error::of(Code::unsupported, format("{} cannot be used: {}", kLibrary, why),
                   "install libcurl 7.85 or later: apt-get install libcurl4");
}

template <typename Function>
Result<void> find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) return unusable(dlerror());
  return {};
}

Result<Curl> load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unusable(dlerror());
  Curl f;
  decltype(&curl_global_init) global_init = nullptr;
  TRY(find(library, "curl_global_init", global_init));
  TRY(find(library, "curl_easy_init", f.easy_init));
  TRY(find(library, "curl_easy_cleanup", f.easy_cleanup));
  TRY(find(library, "curl_easy_reset", f.easy_reset));
  TRY(find(library, "curl_easy_setopt", f.easy_setopt));
  TRY(find(library, "curl_easy_getinfo", f.easy_getinfo));
  TRY(find(library, "curl_easy_strerror", f.easy_strerror));
  TRY(find(library, "curl_multi_init", f.multi_init));
  TRY(find(library, "curl_multi_cleanup", f.multi_cleanup));
  TRY(find(library, "curl_multi_setopt", f.multi_setopt));
  TRY(find(library, "curl_multi_add_handle", f.multi_add_handle));
  TRY(find(library, "curl_multi_remove_handle", f.multi_remove_handle));
  TRY(find(library, "curl_multi_perform", f.multi_perform));
  TRY(find(library, "curl_multi_poll", f.multi_poll));
  TRY(find(library, "curl_multi_wakeup", f.multi_wakeup));
  TRY(find(library, "curl_multi_info_read", f.multi_info_read));
  TRY(find(library, "curl_multi_strerror", f.multi_strerror));
  TRY(find(library, "curl_slist_append", f.slist_append));
  TRY(find(library, "curl_slist_free_all", f.slist_free_all));
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return unusable("it does not start");
  return f;
}

struct Loaded {
  std::mutex mutex;
  std::optional<Curl> functions;  // once they are there, for ever
};

Loaded& loaded() {
  static Loaded once;
  return once;
}

}  // namespace

Result<void> load_curl() {
  const std::lock_guard lock(loaded().mutex);
  if (!loaded().functions) loaded().functions = TRY(load());
  return {};
}

const Curl& curl() {
  return *loaded().functions;
}

}  // namespace hearth::net
