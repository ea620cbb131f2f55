#include "text/script_forms.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "text/utf8.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kMostBytes = 64;  // of a term

struct Affix {
  std::string_view letters;
  size_t least_stem_bytes;
};

// One-letter affixes require longer stems, since many words begin with these letters by chance. A letter has
// two bytes.
constexpr Affix kArabic[] = {
    {"", 0},   {"ال", 4}, {"وال", 4}, {"بال", 4}, {"فال", 4}, {"كال", 4},
    {"لل", 4}, {"و", 8},  {"ب", 8},   {"ف", 8},   {"ك", 8},   {"ل", 8},
};
constexpr Affix kHebrew[] = {
    {"", 0},   {"ה", 6},  {"ו", 6},  {"ב", 6},  {"ל", 6},  {"מ", 6},   {"ש", 6},
    {"כ", 6},  {"וה", 6}, {"וב", 6}, {"ול", 6}, {"ומ", 6}, {"שה", 6},  {"מה", 6},
    {"כש", 6}, {"שב", 6}, {"של", 6}, {"שמ", 6}, {"וש", 6}, {"ושה", 6}, {"כשה", 6},
};
// Folded: й is и, ς is σ, and there are no accents.
constexpr Affix kCyrillic[] = {
    {"", 6},    {"а", 6},   {"я", 6},  {"ы", 6},  {"и", 6},  {"у", 6},   {"ю", 6},   {"е", 6},   {"о", 6},
    {"ь", 6},   {"ом", 6},  {"ем", 6}, {"ои", 6}, {"еи", 6}, {"ов", 6},  {"ев", 6},  {"ам", 6},  {"ям", 6},
    {"ами", 6}, {"ями", 6}, {"ах", 6}, {"ях", 6}, {"ии", 6}, {"ия", 6},  {"ию", 6},  {"ие", 6},  {"ыи", 6},
    {"ая", 6},  {"яя", 6},  {"ое", 6}, {"ее", 6}, {"ые", 6}, {"ого", 6}, {"его", 6}, {"ому", 6}, {"ему", 6},
    {"ую", 6},  {"юю", 6},  {"ых", 6}, {"их", 6}, {"ым", 6}, {"им", 6},  {"ыми", 6}, {"ими", 6},
};
constexpr Affix kGreek[] = {
    {"", 6},   {"α", 6},    {"η", 6},     {"ο", 6},     {"ε", 6},   {"ι", 6},   {"οσ", 6},
    {"ου", 6}, {"ον", 6},   {"οι", 6},    {"ων", 6},    {"ουσ", 6}, {"ασ", 6},  {"εσ", 6},
    {"ησ", 6}, {"εισ", 6},  {"εωσ", 6},   {"εων", 6},   {"ια", 6},  {"ιου", 6}, {"ιων", 6},
    {"μα", 6}, {"ματα", 6}, {"ματοσ", 6}, {"ματων", 6},
};

enum class Script : uint8_t { none, arabic, hebrew, cyrillic, greek };

Script script_of(char32_t c) noexcept {
  if (c >= 0x0370 && c <= 0x03ff) return Script::greek;
  if (c >= 0x0400 && c <= 0x04ff) return Script::cyrillic;
  if (c >= 0x05d0 && c <= 0x05ea) return Script::hebrew;
  if (c >= 0x0620 && c <= 0x06d3) return Script::arabic;
  return Script::none;
}

// Letters that are often interchanged: alef with and without hamza or madda at the beginning of a word, teh
// marbuta with heh and alef maksura with yeh at the end. In pairs; two bytes each.
constexpr std::string_view kAlefs[] = {"ا", "أ", "إ", "آ"};
constexpr std::string_view kFinals[][2] = {{"ة", "ه"}, {"ه", "ة"}, {"ى", "ي"}, {"ي", "ى"}};

// The spellings of an Arabic stem, itself first.
std::vector<std::string> ways_of_writing(std::string_view stem) {
  std::vector<std::string> ways = {std::string(stem)};
  const auto is_alef = [&](std::string_view alef) { return stem.starts_with(alef); };
  if (std::any_of(std::begin(kAlefs), std::end(kAlefs), is_alef)) {
    for (const std::string_view alef : kAlefs)
      if (!is_alef(alef)) ways.push_back(std::string(alef).append(stem.substr(alef.size())));
  }
  for (const auto& [own, other] : kFinals) {
    if (!stem.ends_with(own) || stem.size() == own.size()) continue;
    for (size_t i = 0, n = ways.size(); i < n; ++i)
      ways.push_back(ways[i].substr(0, ways[i].size() - own.size()).append(other));
    break;
  }
  return ways;
}

void add_arabic(std::string_view term, std::vector<std::string>& out) {
  for (const Affix& affix : kArabic) {
    if (!term.starts_with(affix.letters)) continue;
    const std::string_view stem = term.substr(affix.letters.size());
    if (stem.empty() || stem.size() < affix.least_stem_bytes) continue;
    for (const std::string& way : ways_of_writing(stem)) {
      for (const Affix& other : kArabic)
        if (stem.size() >= other.least_stem_bytes) out.push_back(std::string(other.letters).append(way));
    }
  }
}

void add_with_affixes(std::string_view term, std::span<const Affix> affixes, bool at_end,
                      std::vector<std::string>& out) {
  for (const Affix& affix : affixes) {
    const bool has = at_end ? term.ends_with(affix.letters) : term.starts_with(affix.letters);
    if (!has) continue;
    const size_t n = term.size() - affix.letters.size();
    const std::string_view stem = at_end ? term.substr(0, n) : term.substr(affix.letters.size());
    if (n < affix.least_stem_bytes) continue;
    for (const Affix& other : affixes) {
      if (n == 0 || n < other.least_stem_bytes) continue;
      std::string form(at_end ? stem : other.letters);
      form.append(at_end ? other.letters : stem);
      out.push_back(std::move(form));
    }
  }
}

bool is_hiragana(char32_t c) noexcept { return (c >= 0x3041 && c <= 0x3096) || c == 0x309d || c == 0x309e; }
bool is_katakana(char32_t c) noexcept { return (c >= 0x30a1 && c <= 0x30f6) || c == 0x30fd || c == 0x30fe; }

// Appends a code point of three bytes.
void add_kana(char32_t c, std::string& out) {
  out.push_back(static_cast<char>(0xe0 | (c >> 12)));
  out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3f)));
  out.push_back(static_cast<char>(0x80 | (c & 0x3f)));
}

// Adds the term in hiragana only and in katakana only; other characters are unchanged.
void add_in_other_kana(std::string_view term, std::vector<std::string>& out) {
  constexpr char32_t kApart = 0x60;
  std::string hiragana, katakana;
  for (size_t at = 0; at < term.size(); at += utf8_length(static_cast<unsigned char>(term[at]))) {
    const char32_t c = decode_utf8(term, at);
    const std::string_view character = term.substr(at, utf8_length(static_cast<unsigned char>(term[at])));
    is_katakana(c) ? add_kana(c - kApart, hiragana) : void(hiragana.append(character));
    is_hiragana(c) ? add_kana(c + kApart, katakana) : void(katakana.append(character));
  }
  out.push_back(std::move(hiragana));
  out.push_back(std::move(katakana));
}

Script only_script_of(std::string_view term) noexcept {
  const Script script = script_of(decode_utf8(term, 0));
  for (size_t at = 0; at < term.size(); at += utf8_length(static_cast<unsigned char>(term[at])))
    if (script_of(decode_utf8(term, at)) != script) return Script::none;
  return script;
}

bool has_kana(std::string_view term) noexcept {
  for (size_t at = 0; at < term.size(); at += utf8_length(static_cast<unsigned char>(term[at]))) {
    const char32_t c = decode_utf8(term, at);
    if (is_hiragana(c) || is_katakana(c)) return true;
  }
  return false;
}

}  // namespace

void add_script_forms(std::string_view term, std::vector<std::string>& out) {
  if (term.empty() || term.size() > kMostBytes) return;
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  switch (only_script_of(term)) {
    case Script::arabic:
      add_arabic(term, out);
      break;
    case Script::hebrew:
      add_with_affixes(term, kHebrew, false, out);
      break;
    case Script::cyrillic:
      add_with_affixes(term, kCyrillic, true, out);
      break;
    case Script::greek:
      add_with_affixes(term, kGreek, true, out);
      break;
    case Script::none:
      if (has_kana(term)) add_in_other_kana(term, out);
  }
  std::erase_if(out, [&](const std::string& form) { return form == term; });
  std::sort(out.begin() + first, out.end());
  out.erase(std::unique(out.begin() + first, out.end()), out.end());
}

}  // namespace scrubjay::text
