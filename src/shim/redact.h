// Takes secrets out of a stream of bytes, also where they are cut by the edges of reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::shim {

constexpr size_t kLeastSecret = 4;  // shorter ones would black out half of the log

class Redactor {
 public:
  // Every line of a secret of several lines is one of its own.
  explicit Redactor(const std::vector<std::string>& secrets);
  // The bytes that are safe to give on; a tail that may be the beginning of a secret waits. The
  // view holds until the next call.
  std::string_view feed(std::string_view bytes);
  std::string_view finish();
  // A text that is whole.
  std::string clean(std::string_view text) const;

 private:
  size_t held_tail(std::string_view text) const;
  std::string replaced(std::string_view text, size_t& used, bool last) const;
  std::vector<std::string> secrets_;  // longest first
  std::string held_, out_;
};

}  // namespace hearth::shim
