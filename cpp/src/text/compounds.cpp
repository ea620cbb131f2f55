#include "text/compounds.hpp"

#include <algorithm>
#include <array>

#include "text/characters.hpp"
#include "text/porter2.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kLeastBeside = 3;                // letters beside a part
constexpr size_t kLongPart = 6, kLongBeside = 4;  // a long word seldom occurs inside another one by chance

// Letters between parts: linking letters, and suffixes that stemmers remove.
constexpr std::string_view kLinks[] = {"",   "a", "e",  "en", "ens", "er", "es",  "i",
                                       "in", "n", "ns", "o",  "s",   "u",  "ung", "ungs"};

// Prefixes of verbs and nouns, which form other words and not compounds: Auflage does not contain Lage.
constexpr std::string_view kPrefixes[] = {
    "auf",  "aus", "bei",    "dar",   "durch", "efter", "ein",  "ent",   "fore", "fram",  "fur",  "gegen",
    "her",  "hin", "hinter", "med",   "mit",   "nach",  "naar", "neben", "om",   "onder", "over", "till",
    "uber", "uit", "under",  "unter", "upp",   "van",   "ver",  "voor",  "vor",  "wider", "zer",  "zwischen"};

// Words that are not English words or stems of them, and not frequent in names.
constexpr std::string_view kSigns[] = {
    "der und das nicht ist eine auf dem sich auch wird oder durch werden uber",  // German
    "het een voor niet zijn ook maar wordt naar deze hebben",                    // Dutch
    "och att det inte ett har som av jag fran mycket",                           // Swedish
    "og det ikke som av af jeg har et pa fra",                                   // Danish and Norwegian
    "ja etta mutta myos niin kuin ovat oli hanen joka tai"};                     // Finnish

bool is_prefix(std::string_view word) noexcept {
  return std::find(std::begin(kPrefixes), std::end(kPrefixes), word) != std::end(kPrefixes);
}

// Whether `part` occurs in `whole` with nothing or enough letters on either side.
bool stands_in(std::string_view part, std::string_view whole) noexcept {
  for (size_t at = whole.find(part); at != std::string_view::npos; at = whole.find(part, at + 1)) {
    const size_t after = whole.size() - at - part.size();
    if ((at == 0 || at >= kLeastBeside) && (after == 0 || after >= kLeastBeside)) return true;
  }
  return false;
}

}  // namespace

Likelihood is_part(std::string_view part, std::string_view whole, bool compounding,
                   std::vector<std::string>& beside) {
  if (part.size() < kLeastPartBytes ||
      whole.size() < std::max(kLeastCompoundBytes, part.size() + kLeastBeside))
    return Likelihood::none;
  const bool long_enough =
      part.size() >= kVeryLongPartBytes && (compounding || whole.size() >= kVeryLongCompoundBytes);
  if (long_enough && stands_in(part, whole)) return Likelihood::sure;
  if (!compounding) return Likelihood::none;
  const size_t n_beside = whole.size() - part.size();
  const size_t n_before = beside.size();
  const auto add = [&](std::string_view word) {
    if (word.size() >= kLeastBeside && !is_prefix(word)) beside.emplace_back(word);
  };
  if (whole.starts_with(part)) {
    if (part.size() >= kLongPart && n_beside >= kLongBeside) return Likelihood::sure;
    const std::string_view after = whole.substr(part.size());
    for (const std::string_view link : kLinks)
      if (after.starts_with(link)) add(after.substr(link.size()));
  }
  if (whole.ends_with(part)) {
    const std::string_view before = whole.substr(0, n_beside);
    if (!is_prefix(before)) {
      if (part.size() >= kLongPart && n_beside >= kLongBeside) return Likelihood::sure;
      for (const std::string_view link : kLinks)
        if (before.ends_with(link)) add(before.substr(0, before.size() - link.size()));
    }
  }
  return beside.size() > n_before ? Likelihood::if_known : Likelihood::none;
}

bool may_be_in_compound(std::string_view term) noexcept {
  return term.size() >= kLeastPartBytes && term.size() <= kMostCompoundBytes &&
         std::all_of(term.begin(), term.end(), is_lower);
}

bool has_compounds(std::string_view analyzer) noexcept {
  constexpr std::array<std::string_view, 7> kNames = {"danish", "dutch",     "dutch_porter", "finnish",
                                                      "german", "norwegian", "swedish"};
  const std::string_view name = analyzer.substr(0, analyzer.rfind('-'));
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::span<const std::vector<std::string>> signs_of_compounds() {
  static const auto* const signs = [] {  // never destroyed: threads may outlive statics
    auto* lists = new std::vector<std::vector<std::string>>;
    for (const std::string_view words : kSigns) {
      std::vector<std::string>& terms = lists->emplace_back();
      for (size_t from = 0; from < words.size();) {
        const size_t end = std::min(words.find(' ', from), words.size());
        terms.push_back(porter2(words.substr(from, end - from)));
        from = end + 1;
      }
    }
    return lists;
  }();
  return *signs;
}

}  // namespace scrubjay::text
