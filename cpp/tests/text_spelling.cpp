// Words that may be misspelt are words of the text, whatever its bytes, and all edits are visited.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "text/analyzer.hpp"
#include "text/compounds.hpp"
#include "text/digraphs.hpp"
#include "text/foreign_forms.hpp"
#include "text/spelling.hpp"
#include "text/term_key.hpp"
#include "text/word_forms.hpp"

using namespace scrubjay::text;

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<SpelledWord> found;
  find_spelled_words(text, found);
  std::vector<std::string> words;
  for (const SpelledWord& word : found) words.emplace_back(text.substr(word.at, word.n_bytes));
  return words;
}

}  // namespace

TEST(spelled_words_lie_in_texts_of_any_bytes) {
  constexpr std::string_view kBytes = "abcdeXY \"'-_.@/:+#07\xe2\x80\x99\x9c\x9d\xc3\xff";
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, '\0');
    for (char& byte : text) byte = kBytes[random() % kBytes.size()];
    std::vector<SpelledWord> words;
    find_spelled_words(text, words);
    size_t end = 0;
    for (const SpelledWord& word : words) {
      CHECK(word.at >= end);
      end = word.at + word.n_bytes;
      CHECK(end <= text.size());
      CHECK(word.n_bytes >= kLeastSpelledBytes);
      const std::string_view typed = std::string_view(text).substr(word.at, word.n_bytes);
      CHECK(std::all_of(typed.begin(), typed.end(), is_letter));
      CHECK(word.at == 0 || !is_letter(text[word.at - 1]));
      CHECK(end == text.size() || !is_letter(text[end]));
    }
  }
}

TEST(spelled_words_are_no_identifiers_and_stand_in_no_quotes) {
  CHECK(words_of("recieve a databse, migraton-7 \"postgress\" @runnig NASAA June what's databse's") ==
        std::vector<std::string>({"recieve", "databse", "databse"}));
  CHECK(words_of("PLEASE RECIEVE") == std::vector<std::string>({"PLEASE", "RECIEVE"}));
  CHECK(words_of("an \"open quote") == std::vector<std::string>({"open", "quote"}));
}

TEST(every_edit_is_visited) {
  std::set<std::string, std::less<>> edits;
  size_t n = 0;
  visit_edits("acb", [&](std::string_view other) {
    edits.emplace(other);
    ++n;
  });
  CHECK(n <= 54 * 3 + 25);
  for (const char* other : {"ac", "cb", "ab", "cab", "abc", "zcb", "aczb", "zacb", "acbz"})
    CHECK(edits.contains(std::string_view(other)));
  CHECK(!edits.contains(std::string_view("acb")));
  CHECK(!edits.contains(std::string_view("bca")));
}

TEST(forms_are_those_of_one_another) {
  const auto forms = other_forms("mice", "Mice!");
  CHECK_EQ(forms.size(), 1u);
  CHECK(other_forms(forms[0], "a mouse")[0] == "mice");
  CHECK(other_forms("oak", "oak").empty());
}

TEST(the_text_says_which_word_is_meant) {
  const std::vector<std::string> leave = {"left"}, leaves = {"leaf", "left"};
  CHECK(other_forms("leav", "when does he leave") == leave);
  CHECK(other_forms("leav", "leaving, leaves'") == leaves);
  CHECK(other_forms("leav",
                    "l\xc3\xa9"
                    "aves") == leaves);  // not known
  CHECK(other_forms("sat", "the SAT score").empty());
  CHECK(other_forms("sat", "THE SAT").size() == 1);
  CHECK(other_forms("sat", "SAT, who sat").size() == 1);
}

TEST(foreign_forms_are_those_of_one_another) {
  const Analyzer german({"german", {}}), english, plain({"plain", {}});
  CHECK(!ForeignForms::of(english) && !ForeignForms::of(plain));
  const ForeignForms* const forms = ForeignForms::of(german);
  CHECK(forms != nullptr && forms == ForeignForms::of(Analyzer({"german", {}})));
  const auto has = [&](const char* word, const char* form) {
    const std::string term = german.term_of_letters(word), wanted = german.term_of_letters(form);
    const auto others = forms->others(term);
    return forms->may_hold(term_key(term)) && std::find(others.begin(), others.end(), wanted) != others.end();
  };
  CHECK(has("fahren", "fuhr") && has("fuhr", "gefahren"));
  CHECK(has("anrief", "angerufen") && has("anzurufen", "anrufen") && !has("anrief", "gerufen"));
  CHECK(!has("fahren", "fahren") && !has("fahren", "ging"));
  CHECK(forms->others("eich").empty());
  // A caller's stemmer makes other terms.
  CHECK(!ForeignForms::of(Analyzer({"german", [](std::string_view word) { return std::string(word); }})));
}

TEST(digraphs_are_other_ways_of_writing) {
  const Analyzer english, danish({"danish", {}}), german({"german", {}});
  const auto others = [](const char* text, const Analyzer& analyzer) {
    std::vector<std::string> found;
    if (!may_have_digraphs(text, analyzer)) return found;
    for (const Digraph& one : find_digraphs(text, analyzer))
      found.push_back(one.term + (one.if_unknown ? "?" : "=") + one.other);
    return found;
  };
  using Found = std::vector<std::string>;
  CHECK(others("Frau M\xc3\xbcller in \xc3\x85rhus", english) == Found({"muller=mueller", "arhus=aarhus"}));
  CHECK(others("Mueller", english) == Found({"mueller?muller"}));
  CHECK(others("a poet, Poet, MUELLER, question \xc3\x97 \xc3", english).empty());
  CHECK(others("Mueller", german).empty());  // its stemmer unites both
  CHECK_EQ(others("muellae Mueller xMueller Oemuelle", english).size(), 2u);
  std::string long_word;
  while (long_word.size() < size_t{1} << 21) long_word += "muelle";  // linear
  CHECK(others(long_word.c_str(), english).empty());
  CHECK_EQ(others(("Mueller " + long_word + " Mueller").c_str(), english).size(), 2u);
  CHECK(others("aarhus", danish) == Found({"aarhus=arhus"}));
}

TEST(forms_of_a_script_are_those_of_one_another) {
  const auto has = [](const char* term, const char* form) {
    const auto forms = other_forms(term, term);
    return std::find(forms.begin(), forms.end(), form) != forms.end();
  };
  for (const auto& [term, form] :
       {std::pair("ねこ", "ネコ"), std::pair("الكتاب", "كتاب"), std::pair("בית", "בבית"),
        std::pair("книга", "книгу"), std::pair("δρομοσ", "δρομου")}) {
    CHECK(has(term, form));
    CHECK(has(form, term));
    CHECK(!has(term, term));
  }
  CHECK(other_forms("é", "é").empty());
  CHECK(other_forms("книгаx", "книгаx").empty());
}

TEST(compound_parts_need_a_known_rest) {
  std::vector<std::string> beside;
  const auto likelihood = [&](std::string_view part, std::string_view whole, bool compounding) {
    beside.clear();
    return is_part(part, whole, compounding, beside);
  };
  CHECK(likelihood("versicherung", "krankenversicherungsbeitrag", false) == Likelihood::sure);
  CHECK(likelihood("versicherung", "versicherungs", true) == Likelihood::none);
  CHECK(likelihood("haus", "krankenhaus", true) == Likelihood::if_known);
  CHECK(std::find(beside.begin(), beside.end(), "kranken") != beside.end());
  CHECK(std::find(beside.begin(), beside.end(), "krank") != beside.end());
  CHECK(likelihood("haus", "krankenhaus", false) == Likelihood::none);
  CHECK(likelihood("hund", "hundert", true) == Likelihood::none);
  CHECK(likelihood("nehmen", "unternehmen", true) == Likelihood::none);
  CHECK(likelihood("haus", "haus", true) == Likelihood::none);
  CHECK(has_compounds("german-1") && has_compounds("dutch_porter-1") && !has_compounds("english-1"));
  CHECK(may_be_in_compound("haus") && !may_be_in_compound("h7us") && !may_be_in_compound("tur"));
  CHECK_EQ(signs_of_compounds().size(), 5u);
}
