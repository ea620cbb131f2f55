// The letter kernel equals a plain loop at every level and length, and runs of letters are those of the text.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "simd/kernels.hpp"
#include "text/letter_marks.hpp"

using scrubjay::simd::available_kernels;
using scrubjay::simd::Kernels;

namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
char to_small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Of all bytes, or mostly of letters and of bytes beside them in the table.
std::string random_text(std::mt19937& random, size_t n) {
  constexpr std::string_view kBytes = "azAZazAZbdgQ'-@[`{ .\x7f\x80\xff\xc1\xe1";
  const bool any = random() % 3 == 0;
  std::string text(n, ' ');
  for (char& byte : text) byte = any ? static_cast<char>(random() % 256) : kBytes[random() % kBytes.size()];
  return text;
}

}  // namespace

TEST(letter_marks_equal_a_plain_loop_at_every_level) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const size_t n = random() % 300, n_words = (n + 63) / 64;
    const std::string text = random_text(random, n + 3);
    const char* const from = text.data() + random() % 4;
    const auto first = static_cast<char>('a' + random() % 26);
    using Bits = std::vector<uint64_t>;
    Bits letters(n_words), joiners(n_words), beyond(n_words), firsts(n_words);
    for (size_t i = 0; i < n; ++i) {
      const char c = from[i];
      const auto mark = [&](Bits& bits, bool set) { bits[i / 64] |= uint64_t{set} << (i % 64); };
      mark(letters, is_small(to_small(c)));
      mark(joiners, c == '\'' || c == '-');
      mark(beyond, static_cast<unsigned char>(c) >= 0x80);
      mark(firsts, to_small(c) == first);
    }
    for (const Kernels* kernels : available_kernels()) {
      Bits found[4] = {Bits(n_words, 1), Bits(n_words, 2), Bits(n_words, 3), Bits(n_words, 4)};
      kernels->mark_letters(from, n, first, found[0].data(), found[1].data(), found[2].data(),
                            found[3].data());
      CHECK_EQ(found[0], letters);
      CHECK_EQ(found[1], joiners);
      CHECK_EQ(found[2], beyond);
      CHECK_EQ(found[3], firsts);
    }
  }
}

TEST(letter_runs_are_the_longest_of_the_text) {
  std::mt19937 random(12);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random_text(random, random() % (round % 9 == 0 ? 2500 : 200));
    const char first = round % 4 == 0 ? '\0' : static_cast<char>(round % 2 == 0 ? 'a' : 'z');
    std::vector<std::string> expected, found;
    for (size_t at = 0; at < text.size(); ++at) {
      const size_t from = at;
      while (at < text.size() && is_small(to_small(text[at]))) ++at;
      if (at != from && (first == 0 || to_small(text[from]) == first))
        expected.push_back(text.substr(from, at - from));
    }
    scrubjay::text::visit_letter_runs(text, first, [&](std::string_view run) {
      found.emplace_back(run);
      return false;
    });
    CHECK_EQ(found, expected);
  }
}
