// The prefixes of every term are present whenever a reader asks for them while the dictionary grows.
#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "base/hash.hpp"
#include "check.hpp"
#include "lexical/posting.hpp"
#include "lexical/posting_table.hpp"
#include "lexical/term_prefixes.hpp"
#include "text/term_key.hpp"
#include "text/two_edits.hpp"

using namespace scrubjay::lexical;
namespace base = scrubjay::base;
namespace text = scrubjay::text;

namespace {

std::string term_of(uint32_t number) {
  std::mt19937 random(number);
  std::string term;
  for (size_t n = 1 + random() % 14; term.size() < n;) term += static_cast<char>('a' + random() % 26);
  return term + std::to_string(number % 7);
}

uint64_t first_bytes(const std::string& term, size_t n) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < n; ++i)
    bytes |= static_cast<uint64_t>(static_cast<unsigned char>(term[i])) << (8 * i);
  return bytes;
}

bool holds_all_prefixes(const TermPrefixes& prefixes, const std::string& term) {
  bool all = true;
  for (size_t n = TermPrefixes::kLeast; n <= std::min(term.size(), TermPrefixes::kMost); ++n)
    all = all && prefixes.may_hold(first_bytes(term, n));
  return all;
}

void append(PostingTable& table, const std::string& term, uint32_t doc) {
  table.append(text::term_key(term), term, static_cast<uint16_t>(doc), pack_payload(1, 9), nullptr);
}

}  // namespace

TEST(term_prefixes_are_those_of_the_terms_and_few_more) {
  constexpr uint32_t kTerms = 3000;
  TermPrefixes prefixes(kTerms);
  for (uint32_t t = 0; t < kTerms; ++t) {
    const std::string term = term_of(t);
    prefixes.add(first_bytes(term, std::min<size_t>(term.size(), 8)), term.size());
  }
  CHECK(!prefixes.full());
  size_t n_by_chance = 0;
  for (uint32_t t = 0; t < kTerms; ++t) {
    CHECK(holds_all_prefixes(prefixes, term_of(t)));
    n_by_chance += prefixes.may_hold(first_bytes("#" + std::to_string(100'000 + t), 7)) ? 1 : 0;
  }
  CHECK(n_by_chance < kTerms / 5);
  prefixes.clear();
  CHECK(!prefixes.may_hold(first_bytes(term_of(1), 3)));
}

TEST(term_prefixes_answer_for_all_letters_at_once_as_one_by_one) {
  constexpr uint32_t kTerms = 3000;
  TermPrefixes prefixes(kTerms);
  std::set<uint64_t> beginnings;
  for (uint32_t t = 0; t < kTerms; ++t) {
    const std::string term = term_of(t);
    prefixes.add(first_bytes(term, std::min<size_t>(term.size(), 8)), term.size());
    for (size_t n = TermPrefixes::kLeast; n <= std::min(term.size(), TermPrefixes::kMost); ++n)
      beginnings.insert(first_bytes(term, n));
  }
  size_t n_found = 0, n_excluded = 0;
  for (uint32_t t = 0; t < 300; ++t) {
    const std::string term = term_of(t);
    const size_t n = std::min(term.size(), TermPrefixes::kMost);
    for (size_t place = 0; place < n && n >= TermPrefixes::kLeast; ++place) {
      const uint64_t without = first_bytes(term, n) & ~(uint64_t{0xff} << (8 * place));
      uint32_t known = 0, possible = 0, behind = 0;
      for (uint32_t letter = 0; letter < TermPrefixes::kLetters; ++letter) {
        std::string other = term;
        other[place] = static_cast<char>('a' + letter);
        known |= uint32_t{beginnings.contains(first_bytes(other, n))} << letter;
        possible |= uint32_t{prefixes.may_hold(first_bytes(other, n))} << letter;
        if (place + 1 >= TermPrefixes::kLeast)
          behind |= uint32_t{prefixes.may_hold(first_bytes(other, place + 1))} << letter;
      }
      const uint32_t found = prefixes.letters_at(place, without, TermPrefixes::kAllLetters);
      CHECK_EQ(found | known, found);
      CHECK_EQ(found & possible, found);
      CHECK_EQ(prefixes.letters_at(place, without, 0x2aaaaaau), found & 0x2aaaaaau);
      n_excluded += found != possible ? 1 : 0;
      if (place + 1 >= TermPrefixes::kLeast)
        CHECK_EQ(prefixes.letters_behind(first_bytes(term, place)), behind);
      n_found += known != 0 ? 1 : 0;
    }
  }
  CHECK(n_found > 1000);
  CHECK(n_excluded > 20);
}

TEST(term_prefixes_know_whole_terms) {
  constexpr uint32_t kTerms = 3000;
  TermPrefixes prefixes(kTerms);
  for (uint32_t t = 0; t < kTerms; ++t) prefixes.add_term(text::term_key(term_of(t)));
  size_t n_by_chance = 0;
  for (uint32_t t = 0; t < kTerms; ++t) {
    CHECK(prefixes.may_hold_term(text::term_key(term_of(t))));
    n_by_chance += prefixes.may_hold_term(text::term_key(term_of(t) + "#")) ? 1 : 0;
  }
  CHECK(n_by_chance < kTerms / 5);
}

TEST(term_prefixes_match_parts_of_very_long_words) {
  const std::string whole = "krankenversicherungsbeitrag";
  for (const uint32_t n_others : {0u, 600u}) {  // without and with a dictionary
    PostingTable table;
    for (uint32_t t = 0; t < n_others; ++t) append(table, term_of(t), 3);
    for (const char* term : {"versichert", "versicherungswesen1"}) append(table, term, 3);
    TermPrefixes tiny(16);
    const TermPrefixes* prefixes = n_others != 0 ? table.prefixes() : &tiny;
    CHECK(prefixes != nullptr);
    // Keys of long terms are seeded per process, so false positives vary from run to run.
    const auto n_inside = [&](const std::string& word) {
      size_t n = 0;
      for (size_t at = 0; at + 8 <= word.size(); ++at) n += prefixes->may_be_inside(word.substr(at)) ? 1 : 0;
      return n;
    };
    CHECK(n_inside(whole) < 8);  // of 20
    append(table, whole, 4);     // to the filter that a reader made
    if (n_others == 0) CHECK(table.add_tiny_prefixes(tiny));
    for (size_t at = 0; at + 8 <= whole.size(); ++at) CHECK(prefixes->may_be_inside(whole.substr(at)));
    CHECK(n_inside("gesichertewohnungsgenossenschaft") < 9);  // of 25
  }
}

TEST(posting_table_without_a_dictionary_adds_its_prefixes) {
  PostingTable table;
  for (const char* term : {"ab", "memory", "identifiers"}) append(table, term, 3);
  TermPrefixes prefixes(16);
  CHECK(table.prefixes() == nullptr);
  CHECK(table.add_tiny_prefixes(prefixes));
  CHECK(holds_all_prefixes(prefixes, "memory") && holds_all_prefixes(prefixes, "identifiers"));
  for (uint32_t t = 0; t < 600; ++t) append(table, term_of(t), 20);
  CHECK(!table.add_tiny_prefixes(prefixes));
  CHECK(table.prefixes() != nullptr);
}

// Every reader finds the prefixes of all terms that were published before it asked.
TEST(posting_table_keeps_its_prefixes_while_it_is_written) {
  constexpr uint32_t kTerms = 20'000;
  PostingTable table;
  std::atomic<uint32_t> n_published{0}, n_found{0};
  std::vector<std::thread> readers;
  for (uint32_t r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random(r);
      for (uint32_t seen = 0; seen < kTerms;) {
        const base::EpochGuard guard;
        seen = n_published.load(std::memory_order_acquire);
        const TermPrefixes* prefixes = table.prefixes();
        if (!prefixes || seen == 0) continue;
        n_found.fetch_add(1, std::memory_order_relaxed);
        CHECK(holds_all_prefixes(*prefixes, term_of(seen - 1)));
        CHECK(holds_all_prefixes(*prefixes, term_of(static_cast<uint32_t>(random()) % seen)));
      }
    });
  }
  for (uint32_t t = 0; t < kTerms; ++t) {
    append(table, term_of(t), 16 + t / 4);
    n_published.store(t + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(n_found.load() != 0);
  const base::EpochGuard guard;
  const TermPrefixes* prefixes = table.prefixes();
  CHECK(prefixes != nullptr);
  for (uint32_t t = 0; prefixes && t < kTerms; ++t) {
    CHECK(holds_all_prefixes(*prefixes, term_of(t)));
    CHECK(prefixes->may_hold_term(text::term_key(term_of(t))));
  }
  base::collect_retired();
}

TEST(terms_near_a_word_are_found_while_the_dictionary_grows) {
  const base::EpochGuard guard;
  PostingTable table;
  std::vector<std::string> terms;
  std::mt19937 random(9);
  size_t n_found = 0;
  const auto check_near = [&](std::string word, bool stems) {
    word.resize(std::clamp<size_t>(word.size(), text::TwoEdits::kLeastBytes, 24), 'a');
    const text::TwoEdits edits(word, stems);
    std::vector<std::string> found, expected;
    table.find_near(edits, [&](std::string_view term) { found.emplace_back(term); });
    for (const std::string& term : terms)
      if (TermStarts::letters_of(term) != 0 && edits.may_mean(term)) expected.push_back(term);
    n_found += expected.size();
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::sort(expected.begin(), expected.end());
    CHECK_EQ(found, expected);
  };
  const auto check_all = [&] {
    for (unsigned i = 0; i < 40; ++i) {
      std::string word = terms.empty() ? "k" : terms[random() % terms.size()];
      std::erase_if(word, [](char c) { return c < 'a' || c > 'z'; });
      if (word.empty()) continue;
      for (unsigned n_edits = i % 4; n_edits != 0; --n_edits) {
        const size_t at = random() % word.size();
        if (random() % 2 == 0) word[at] = static_cast<char>('a' + random() % 4);
        if (at > 0 && random() % 2 == 0) std::swap(word[at - 1], word[at]);
        if (random() % 3 == 0) word.insert(at, 1, 'y');
      }
      check_near(word, i % 2 == 0);
    }
  };
  check_all();
  size_t next_check = 1;
  for (uint32_t number = 0; number < 6000; ++number) {
    std::string term(1, number % 3 == 0 ? 'k' : static_cast<char>('a' + random() % 26));
    const size_t n = 1 + random() % (number % 50 == 0 ? 60 : 12);
    while (term.size() < n) term += static_cast<char>('a' + random() % (number % 2 == 0 ? 4 : 26));
    if (number % 10 == 0) term += "-7";
    if (number % 10 == 1) term += 'i';
    if (std::find(terms.begin(), terms.end(), term) != terms.end()) continue;
    terms.push_back(term);
    append(table, term, number % 60'000);
    if (terms.size() < next_check) continue;
    check_all();
    next_check = terms.size() + 1 + terms.size() / 7;
  }
  check_all();
  CHECK(n_found > 500);
}

TEST(terms_before_a_readers_list_are_found_while_a_writer_adds_more) {
  PostingTable table;
  constexpr uint32_t kTerms = 4000;
  const auto letters_of = [](uint32_t number) {
    std::string term = "term";
    for (; number != 0; number /= 8) term += static_cast<char>('a' + number % 8);
    return term;
  };
  std::atomic<uint32_t> n_written{0};
  std::thread writer([&] {
    for (uint32_t number = 0; number < kTerms; ++number) {
      append(table, letters_of(number), number);
      n_written.store(number + 1, std::memory_order_release);
    }
  });
  size_t n_missing = 0, n_expected = 0;
  for (uint32_t round = 0, n_after = 0; n_after < 64; ++round) {  // beside the writer, and after it
    const uint32_t n = n_written.load(std::memory_order_acquire);
    n_after += n == kTerms ? 1 : 0;
    const std::string word = letters_of(kTerms - 1 - round % 64) + "ab";
    const text::TwoEdits edits(word, true);
    const base::EpochGuard guard;
    std::set<std::string, std::less<>> found;
    table.find_near(edits, [&](std::string_view term) { found.emplace(term); });
    for (uint32_t number = 0; number < n; ++number) {
      const std::string term = letters_of(number);
      if (!edits.may_mean(term)) continue;
      ++n_expected;
      n_missing += found.contains(term) ? 0 : 1;
    }
  }
  writer.join();
  CHECK(n_expected > 100);
  CHECK_EQ(n_missing, size_t{0});
}
