#include <random>
#include <set>
#include <thread>

#include "base/errors.hpp"
#include "check.hpp"
#include "text/analyzer.hpp"
#include "text/snowball.hpp"

using namespace scrubjay::text;

namespace {

// "term/kind" with the first letter of the kind, in order, separated by blanks.
std::string shown(const Analyzer& analyzer, std::string_view text, Analyzer::Scratch& scratch) {
  std::vector<Token> tokens;
  analyzer.analyze(text, scratch, tokens);
  std::string out;
  for (const Token& token : tokens) {
    if (!out.empty()) out += ' ';
    out.append(token.term).append("/").append(kind_name(token.kind).substr(0, 1));
  }
  return out;
}

std::string shown(std::string_view text) {
  static const Analyzer analyzer;
  Analyzer::Scratch scratch;
  return shown(analyzer, text, scratch);
}

std::string random_text(std::mt19937& random, size_t n_pieces) {
  static const char* kPieces[] = {"sk-stg-0041",
                                  "TS",
                                  "iPhone",
                                  "don't",
                                  "running",
                                  "20th",
                                  "1,000",
                                  "9",
                                  "caf\u00e9",
                                  "-",
                                  ".",
                                  "@",
                                  "_",
                                  "/",
                                  ":",
                                  "::",
                                  "+",
                                  "#",
                                  "'",
                                  ",",
                                  " ",
                                  "__",
                                  "\u6771\u4eac",
                                  "\ud55c\uad6d",
                                  "\u0e20\u0e32",
                                  "\u0301",
                                  "\u2019",
                                  "\u2122",
                                  "\xff",
                                  "\xe6\x9d"};
  std::string text;
  for (size_t i = 0; i < n_pieces; ++i) text += kPieces[random() % std::size(kPieces)];
  return text;
}

}  // namespace

TEST(analyzer_words) {
  CHECK_EQ(shown("User's keys: the running dogs."), "user/w key/w the/w run/w dog/w");
  CHECK_EQ(shown("don't we'll I'm Stra\u00dfe na\u00efve \u0141\u00f3d\u017a"),
           "dont/w we/w i/w strass/w naiv/w lodz/w");
  CHECK_EQ(shown("well-known O'Brien"), "well/p known/p wellknown/j o/p brien/p obrien/j");
  CHECK_EQ(shown("and/or Caroline: e.g. U.S. ..."), "and/w or/w carolin/w e.g/w eg/w u.s/w us/w");
  CHECK_EQ(shown("1,000 and 1,2"), "1000/w and/w 1/w 2/w");
  CHECK_EQ(shown(""), "");
  CHECK_EQ(shown(" .,-'\xff\u2014\U0001F600 "), "");
}

TEST(analyzer_identifiers) {
  CHECK_EQ(shown("sk-stg-0041."), "sk-stg-0041/w sk/p stg/p 0041/p skstg0041/j");
  CHECK_EQ(shown("TS-999"), "ts-999/w ts/p 999/p ts999/j");
  CHECK_EQ(shown("TS7032"), "ts7032/w ts/p 7032/p ts7032/j");
  CHECK_EQ(shown("iPhone"), "iphone/w i/p phone/p iphon/j");
  CHECK_EQ(shown("#4711 C++ C# @jane"), "#4711/w 4711/w c++/w c/w c#/w c/w @jane/w jane/w");
  CHECK_EQ(shown("10.0.0.1:80"), "10.0.0.1:80/w 10.0.0.1/w 10/p 0/p 0/p 1/p 80/p");
  CHECK_EQ(shown("react==8.13.8"), "react/w 8.13.8/w 8/p 13/p 8/p");
  CHECK_EQ(shown("__init__ std::vector"), "__init__/w init/w std::vector/w std/p vector/p stdvector/j");
}

TEST(analyzer_unspaced_scripts) {
  CHECK_EQ(shown("\u6771\u4eac\u30bf\u30ef"), "\u6771\u4eac/w \u4eac\u30bf/w \u30bf\u30ef/w");
  CHECK_EQ(shown("2023\u5e74"), "2023/w \u5e74/w");
  CHECK_EQ(shown("\uff34\uff33\uff0d\uff19"), "ts-9/w ts/p 9/p ts9/j");  // fullwidth TS-9
}

TEST(analyzer_cuts_long_terms_at_a_character) {
  const Analyzer analyzer({"plain", {}});
  Analyzer::Scratch scratch;
  std::vector<Token> tokens;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "\u0436";
  const std::string longer = text + " " + text + "\u0448";
  analyzer.analyze(longer, scratch, tokens);
  CHECK_EQ(tokens.size(), 2);
  for (const Token& token : tokens) CHECK_EQ(token.term, std::string_view(text).substr(0, 254));
}

TEST(analyzer_keys_are_term_keys) {
  const Analyzer analyzer;
  Analyzer::Scratch scratch;
  std::vector<Token> tokens;
  analyzer.analyze("a staging-environment key sk-stg-0041 \u6771\u4eac", scratch, tokens);
  std::set<uint64_t> packed;
  for (const Token& token : tokens) {
    CHECK_EQ(token.key, term_key(token.term));
    CHECK_EQ(is_packed(token.key), token.term.size() <= kMaxPackedBytes);
  }
  CHECK_EQ(term_key("ab"), 0x0200000000006261ull);
}

TEST(analyzer_cache_changes_nothing) {
  const Analyzer english, plain({"plain", {}});
  std::mt19937 random(7);
  Analyzer::Scratch none(0), tiny(40000), warm, shared;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_text(random, 1 + random() % 30);
    const std::string expected = shown(english, text, none);
    CHECK_EQ(shown(english, text, tiny), expected);
    CHECK_EQ(shown(english, text, warm), expected);
    CHECK_EQ(shown(english, text, warm), expected);
    CHECK_EQ(shown(plain, text, shared), shown(plain, text, none));  // one scratch, two analyzers
    CHECK_EQ(shown(english, text, shared), expected);
  }
}

TEST(analyzer_cache_is_bounded) {
  const Analyzer analyzer;
  constexpr size_t kCacheBytes = 100'000;
  Analyzer::Scratch scratch(kCacheBytes);
  std::vector<Token> tokens;
  for (int i = 0; i < 20000; ++i) {
    analyzer.analyze("word" + std::to_string(i) + " other" + std::to_string(i), scratch, tokens);
    CHECK_EQ(tokens.size(), 8);
  }
  CHECK(scratch.memory_bytes() < kCacheBytes + 50'000);
}

TEST(analyzer_is_shared_by_threads) {
  const Analyzer analyzer({"prefix", [](std::string_view word) { return std::string(cut_utf8(word, 4)); }});
  CHECK_EQ(analyzer.name(), "prefix-1");
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&analyzer, t] {
      std::mt19937 random(t);
      Analyzer::Scratch scratch, fresh(0);
      for (int i = 0; i < 300; ++i) {
        const std::string text = random_text(random, 20);
        CHECK_EQ(shown(analyzer, text, scratch), shown(analyzer, text, fresh));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(stemmer_sees_each_word_once_with_its_accents) {
  std::vector<std::string> seen;
  const Analyzer analyzer({"german", [&seen](std::string_view word) {
                             seen.emplace_back(word);
                             return std::string(word);
                           }});
  Analyzer::Scratch scratch(0);
  CHECK_EQ(shown(analyzer, "Gr\u00f6\u00dfe GR\u00d6SSE TS-99", scratch),
           "grosse/w grosse/w ts-99/w ts/p 99/p ts99/j");
  CHECK_EQ(shown(analyzer, "Gr\u00f6\u00dfe", scratch), "grosse/w");
  CHECK_EQ(seen, std::vector<std::string>{"gr\u00f6sse", "ts"});
}

TEST(languages_are_stemmed_natively) {
  const Analyzer german({"german", {}}), russian({"russian", {}});
  Analyzer::Scratch scratch;
  CHECK_EQ(shown(german, "Die H\u00e4user, der WANDERUNGEN TS-99", scratch),
           "die/w haus/w der/w wander/w ts-99/w ts/p 99/p ts99/j");
  CHECK_EQ(shown(russian, "\u043a\u043d\u0438\u0433\u0430\u043c\u0438", scratch),
           "\u043a\u043d\u0438\u0433/w");
  CHECK(german.stems_slowly() && !german.english());
  // A given stemmer takes precedence over the language's.
  const Analyzer own({"german", [](std::string_view) { return std::string("x"); }});
  CHECK_EQ(shown(own, "H\u00e4user", scratch), "x/w");
  CHECK_EQ(own.name(), german.name());
}

TEST(every_language_gives_well_formed_terms_of_hostile_texts) {
  std::mt19937 random(11);
  Analyzer::Scratch scratch, fresh(0);
  for (const snowball::Program& program : snowball::all_programs()) {
    const Analyzer analyzer({std::string(program.language), {}});
    for (int i = 0; i < 40; ++i) {
      const std::string text = random_text(random, 30);
      CHECK_EQ(shown(analyzer, text, scratch), shown(analyzer, text, fresh));
    }
  }
}

// Stemmers that replace something at every letter would be quadratic in the length of a word.
TEST(very_long_words_are_not_stemmed) {
  snowball::Stemmer stemmer;
  std::string word, stem;
  while (word.size() < snowball::Stemmer::kMostBytes) word += "ue";
  stemmer.stem(*snowball::find_program("german"), word, stem);
  CHECK(stem != word);
  word += "u";
  stemmer.stem(*snowball::find_program("german"), word, stem);
  CHECK_EQ(stem, word);
}

TEST(scratch_survives_a_stemmer_that_throws) {
  bool broken = true;
  const Analyzer analyzer({"moody", [&broken](std::string_view word) {
                             if (broken) throw std::runtime_error("no");
                             return std::string(word);
                           }});
  Analyzer::Scratch scratch;
  CHECK_THROWS(shown(analyzer, "some-word here", scratch), std::runtime_error);
  broken = false;
  CHECK_EQ(shown(analyzer, "some-word here", scratch), "some/p word/p someword/j here/w");
}

TEST(analyzer_names) {
  CHECK_EQ(Analyzer().name(), "english-1");
  CHECK_EQ(Analyzer({"plain", {}}).name(), "plain-1");
  const Stemmer same = [](std::string_view word) { return std::string(word); };
  CHECK_EQ(Analyzer({"german", {}}).name(), "german-1");
  CHECK_THROWS(Analyzer({"klingon", {}}), scrubjay::base::InvalidArgument);
  CHECK_THROWS(Analyzer({"english", same}), scrubjay::base::InvalidArgument);
  CHECK_THROWS(Analyzer({"", same}), scrubjay::base::InvalidArgument);
}

TEST(analyzer_is_linear_in_hostile_texts) {
  const Analyzer analyzer;
  Analyzer::Scratch scratch;
  std::vector<Token> tokens;
  const std::string_view units[] = {
      "a.",       "\u0301", "\u0315\u0300", "a'",     "n't",  "aB", "1a",     "a_",
      "-",        "1,",     "\u6771",       "\ufdfa", "\xf0", "a/", "\u1100", "\U0001F600\u200d",
      "\u05d0\"", "\u00e9"};
  for (const std::string_view unit : units) {
    std::string text;
    while (text.size() < 200'000) text += unit;
    analyzer.analyze(text, scratch, tokens);
    CHECK(tokens.size() <= text.size() * 2);
    for (const Token& token : tokens) CHECK(!token.term.empty() && token.term.size() <= kMaxTermBytes);
  }
}
