#include "engine/row_checksum.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/blake2b.hpp"

namespace scrubjay::engine {
namespace {

constexpr char kFormat = 1;
constexpr size_t kDigestBytes = 8;

void append_digest(base::Blake2b& hash, std::string& out) {
  std::array<char, kDigestBytes> digest{};
  hash.finish(digest);
  out.append(digest.data(), digest.size());
}

}  // namespace

std::string row_checksum(const Scope& scope, const Id& id, std::string_view text,
                         std::optional<std::string_view> payload) {
  base::Blake2b hash(kDigestBytes);
  for (const std::string_view name : {scope.tenant(), scope.user().value_or(std::string_view()),
                                      scope.agent().value_or(std::string_view())}) {
    std::array<char, sizeof(uint32_t)> size{};
    const auto n = static_cast<uint32_t>(name.size());
    std::memcpy(size.data(), &n, size.size());
    hash.update({size.data(), size.size()});
    hash.update(name);
  }
  const bool is_string = id.kind == IdKind::string;
  std::array<char, 24> digits{};
  std::string_view name = id.string;
  if (!is_string) {
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), id.integer).ptr;
    name = {digits.data(), static_cast<size_t>(end - digits.data())};
  }
  // the kind of id, the number of its characters, a space, the id, the text
  const auto n_characters =
      std::count_if(name.begin(), name.end(), [](char c) { return (c & '\xc0') != '\x80'; });
  std::array<char, 24> head{};
  head[0] = is_string ? 's' : 'i';
  char* end = std::to_chars(head.data() + 1, head.data() + head.size() - 1, n_characters).ptr;
  *end++ = ' ';
  hash.update({head.data(), static_cast<size_t>(end - head.data())});
  hash.update(name);
  hash.update(text);
  std::string checksum(1, kFormat);
  append_digest(hash, checksum);
  if (payload) {
    base::Blake2b of_payload(kDigestBytes);
    of_payload.update(*payload);
    append_digest(of_payload, checksum);
  }
  return checksum;
}

}  // namespace scrubjay::engine
