#include "check.hpp"
#include "text/porter2.hpp"

using scrubjay::text::porter2;

TEST(porter2_follows_the_published_examples) {
  const std::pair<const char*, const char*> cases[] = {
      {"consign", "consign"},
      {"consigned", "consign"},
      {"consigning", "consign"},
      {"consistency", "consist"},
      {"consolation", "consol"},
      {"knightly", "knight"},
      {"knots", "knot"},
      {"generously", "generous"},
      {"skies", "sky"},
      {"ties", "tie"},
      {"cries", "cri"},
      {"gas", "gas"},
      {"gaps", "gap"},
      {"hopping", "hop"},
      {"hoping", "hope"},
      {"egged", "egg"},
      {"succeed", "succeed"},
      {"feed", "feed"},
      {"agreed", "agre"},
      {"news", "news"},
      {"inning", "inning"},
      {"dying", "die"},
      {"biologist", "biolog"},
      {"university", "universiti"},
      {"pasted", "paste"},
      {"international", "internat"},
      {"don't", "don't"},
      {"cat's", "cat"},
      {"sayings", "say"},
      {"youth", "youth"},
      {"controlling", "control"},
  };
  for (const auto& [word, stem] : cases) {
    CHECK_EQ(porter2(word), stem);
  }
}

TEST(porter2_leaves_short_words_alone) {
  for (const char* word : {"", "a", "is", "'s", "as"}) CHECK_EQ(porter2(word), word);
}

TEST(porter2_takes_any_bytes) {
  CHECK_EQ(porter2("caf\xc3\xa9s"), "caf\xc3\xa9");
  CHECK_EQ(porter2(std::string(10000, 's')).size(), 10000);
  CHECK(porter2(std::string(5000, 'y') + "ing").size() <= 5003);
}
