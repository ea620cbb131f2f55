// The words of the table are known, and their neighbours are not.
#include <string>
#include <string_view>
#include <utility>

#include "check.hpp"
#include "text/known_words.hpp"

using scrubjay::text::is_known_word;
using namespace scrubjay::text::known_words;

TEST(common_words_and_their_forms_are_known) {
  for (const std::string_view word :
       {"boss",     "bosses",  "date",      "dated",  "dating",   "would",        "sports",
        "planning", "planned", "wedding",   "movies", "organise", "organization", "women",
        "went",     "london",  "microsoft", "loving", "agreed",   "agreeing",     "seed"})
    CHECK(is_known_word(word));
  for (const std::string_view word :
       {"", "a", "movee", "soed", "eate", "noed", "recieve", "databse", "migraton", "aaaa", "zzzz", "lovving",
        "agreeed", "abandonsing", "abcdefghijklmnopqrstuvwxyz", "counterrevolutionariesss"})
    CHECK(!is_known_word(word));
}

// Reads the table as cmake/known_words.py wrote it, from beginning to end.
TEST(every_word_of_the_table_is_known) {
  std::string word, before;
  size_t n_words = 0, n_forms = 0;
  for (size_t at = 0; at < kNumberOfBytes; ++n_words) {
    const unsigned head = kBytes[at++];
    const bool begins = n_words % 16 == 0;
    if (begins) {
      CHECK(kBlocks[n_words / 16] == at - 1);
      CHECK((head & 0x1f) == 0);
    }
    word.resize(head & 0x1f);
    for (bool last = false; !last; ++at) {
      last = (kBytes[at] & 0x80) != 0;
      word.push_back(static_cast<char>(kBytes[at] & 0x7f));
    }
    CHECK(before < word);
    CHECK(is_known_word(word));
    const std::string cut = word.back() == 'e' ? word.substr(0, word.size() - 1) : word;
    for (const auto& [bit, form] :
         {std::pair(0x20u, word + "s"), std::pair(0x40u, cut + "ed"), std::pair(0x80u, cut + "ing")}) {
      n_forms += (head & bit) != 0 ? 1 : 0;
      if ((head & bit) != 0) CHECK(is_known_word(form));
    }
    CHECK(!is_known_word(word + "qx"));
    before = word;
  }
  CHECK(kNumberOfBlocks == (n_words + 15) / 16);
  CHECK(n_words > 40'000);
  CHECK(n_forms > 20'000);
}
