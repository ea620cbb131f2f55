#include "text/japanese_function_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "text/term_key.hpp"

namespace scrubjay::text {
namespace {

// In the order in which a run has them.
constexpr std::array<std::string_view, 4> kRunParts = {
    "さん さんたち くん ちゃん さま たち",
    "は が を に で と の も へ や か から まで より だけ など には では とは のは のが のを のに ので にも "
    "でも とも "
    "への での との からの からは までの までに については について という として による によって などの "
    "などを などは",
    "です でした でしょう だった である ではない ではありません します しました しません して した しない "
    "する "
    "している しています していた していました いる います いた いました いない いません ある あります "
    "あった "
    "ありました ありません なる なります なった なりました ます ました ません ましょう ください してください "
    "しないで "
    "しないでください のです んです なのです ことです こと ことが ことを ことは もの ものが ものを ものは "
    "とき ときに "
    "ときは ため ために ように",
    "か ね よ が けど の"};

constexpr size_t kKanaBytes = 3;                   // of a character of hiragana
constexpr size_t kMostRunBytes = 24 * kKanaBytes;  // longer than the longest function words together

bool is_hiragana_at(std::string_view utf8, size_t at) noexcept {
  if (at + kKanaBytes > utf8.size() || utf8[at] != '\xe3') return false;
  const auto second = static_cast<unsigned char>(utf8[at + 1]),
             third = static_cast<unsigned char>(utf8[at + 2]);
  if (second == 0x81) return third >= 0x81 && third <= 0xbf;  // U+3041 to U+307F
  return second == 0x82 && third >= 0x80 && third <= 0x96;    // U+3080 to U+3096
}

// Whether the rest of a run consists of parts from kRunParts[part] on.
bool consists_of_parts(std::string_view rest, size_t part) noexcept {
  if (rest.empty()) return true;
  if (part == kRunParts.size()) return false;
  if (consists_of_parts(rest, part + 1)) return true;
  const std::string_view words = kRunParts[part];
  for (size_t from = 0; from < words.size();) {
    const size_t end = std::min(words.find(' ', from), words.size());
    const std::string_view word = words.substr(from, end - from);
    if (rest.starts_with(word) && consists_of_parts(rest.substr(word.size()), part + 1)) return true;
    from = end + 1;
  }
  return false;
}

}  // namespace

void add_japanese_function_words(std::string_view utf8, std::vector<uint64_t>& keys) {
  std::vector<uint64_t> elsewhere;
  const size_t n_before = keys.size();
  for (size_t at = utf8.find('\xe3'); at < utf8.size();) {
    const size_t from = at;
    while (is_hiragana_at(utf8, at)) at += kKanaBytes;
    const std::string_view run = utf8.substr(from, at - from);
    if (run.size() > kKanaBytes) {
      const bool is_function = run.size() <= kMostRunBytes && consists_of_parts(run, 0);
      std::vector<uint64_t>& pairs = is_function ? keys : elsewhere;
      for (size_t i = 0; i + kKanaBytes < run.size(); i += kKanaBytes)
        pairs.push_back(term_key(run.substr(i, 2 * kKanaBytes)));
    }
    if (run.empty()) ++at;
    at = std::min(utf8.find('\xe3', at), utf8.size());
  }
  if (elsewhere.empty()) return;
  keys.erase(std::remove_if(keys.begin() + static_cast<std::ptrdiff_t>(n_before), keys.end(),
                            [&](uint64_t key) {
                              return std::find(elsewhere.begin(), elsewhere.end(), key) != elsewhere.end();
                            }),
             keys.end());
}

}  // namespace scrubjay::text
