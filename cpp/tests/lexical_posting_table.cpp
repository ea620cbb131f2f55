// The posting table equals a map of terms to lists, at every size at which its form changes.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "lexical/bm25.hpp"
#include "lexical/posting.hpp"
#include "lexical/posting_table.hpp"
#include "simd/kernels.hpp"
#include "text/term_key.hpp"

using namespace scrubjay::lexical;
namespace base = scrubjay::base;
namespace simd = scrubjay::simd;
namespace text = scrubjay::text;

namespace {

struct Posting {
  uint16_t offset;
  uint16_t payload;
};

// The table and its model, written in lock-step.
class CheckedTable {
 public:
  explicit CheckedTable(uint32_t n_max_docs) : dead_(n_max_docs) {}

  void append(const std::string& term, uint16_t offset, uint32_t tf, uint32_t length_code) {
    const uint16_t payload = pack_payload(tf, length_code);
    table_.append(text::term_key(term), term, offset, payload, &dead_);
    model_[term].push_back({offset, payload});
  }
  void undo(const std::string& term, uint16_t offset) {
    table_.undo(text::term_key(term), term, offset);
    model_[term].pop_back();
  }
  void kill(uint16_t offset) {
    for (const auto& [term, postings] : model_) {
      for (const Posting& posting : postings) {
        if (posting.offset == offset) table_.count_dead(text::term_key(term), term, offset);
      }
    }
    dead_.set(offset);
  }
  void check_term(const std::string& term, uint32_t n_docs) const {
    const base::EpochGuard guard;
    TermPostings found;
    table_.find(text::term_key(term), term, n_docs, &dead_, found);
    const auto at = model_.find(term);
    std::vector<Posting> expected;
    uint32_t n_dead = 0;
    bool clamped = false;
    for (const Posting& posting : at == model_.end() ? std::vector<Posting>() : at->second) {
      if (posting.offset >= n_docs) {
        clamped = true;
        break;
      }
      expected.push_back(posting);
      n_dead += dead_.test(posting.offset);
    }
    CHECK_EQ(found.n, expected.size());
    for (size_t i = 0; i < std::min<size_t>(found.n, expected.size()); ++i) {
      CHECK_EQ(found.offsets()[i], expected[i].offset);
      CHECK_EQ(found.payloads()[i], expected[i].payload);
      CHECK(payload_tf(expected[i].payload) <= found.max_tf);
      const uint32_t frequency_class = std::min(payload_tf(expected[i].payload), Shortest::kClasses) - 1;
      CHECK(found.shortest.has(frequency_class));
      CHECK(payload_length_code(expected[i].payload) >= found.shortest.length_code(frequency_class));
      CHECK(payload_length_code(expected[i].payload) >= found.shortest.least_length_code());
      CHECK(payload_length_code(expected[i].payload) <= found.max_length_code);
    }
    check_ranked(found, n_docs);
    // A reader that was overtaken may count deletions of later documents; it then reads again.
    if (clamped) {
      CHECK(found.n_dead >= n_dead);
    } else {
      CHECK_EQ(found.n_dead, n_dead);
    }
  }
  // A ranked bitmap contains exactly the documents of the list.
  static void check_ranked(const TermPostings& found, uint32_t n_docs) {
    if (!found.ranked()) return;
    const std::vector<float> norms(kMaxLengthCode + 17, 0.5f);
    std::vector<uint32_t> docs(n_docs + 16), scores(n_docs + 16, 1);  // a kernel may write beyond
    std::iota(docs.begin(), docs.end(), 0u);
    const simd::Kernels& kernels = simd::kernels();
    const size_t n =
        kernels.complete_ranked(found.ranked()->read(), found.ranked()->n_words(), found.payloads(), 1000.0f,
                                1, norms.data(), 0, 0, docs.data(), scores.data(), n_docs);
    CHECK_EQ(n, n_docs);
    uint32_t i = 0;
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      const bool held = i < found.n && found.offsets()[i] == doc;
      CHECK_EQ(scores[doc], 1 + (held ? contribution(1000.0f, payload_tf(found.payloads()[i]), 0.5f) : 0));
      i += held ? 1 : 0;
    }
    CHECK_EQ(i, found.n);
  }
  void check(uint32_t n_docs) const {
    check_postings(n_docs);
    size_t n_taken_back = 0;  // a dictionary keeps their slots
    for (const auto& [term, postings] : model_) n_taken_back += postings.empty() ? 1 : 0;
    CHECK(table_.n_terms() <= model_.size());
    CHECK(table_.n_terms() >= model_.size() - n_taken_back);
  }
  void check_postings(uint32_t n_docs) const {
    size_t n_postings = 0;
    for (const auto& [term, postings] : model_) {
      check_term(term, n_docs);
      n_postings += postings.size();
    }
    CHECK_EQ(table_.n_postings(), n_postings);
    check_term("never", n_docs);
    check_term("never-seen-and-longer", n_docs);
  }
  [[nodiscard]] const PostingTable& table() const { return table_; }

 private:
  PostingTable table_;
  std::map<std::string, std::vector<Posting>> model_;
  base::Bitmap dead_;
};

std::vector<uint16_t> offsets_of(const PostingTable& table, uint64_t key, std::string_view term,
                                 uint32_t n_docs) {
  const base::EpochGuard guard;
  TermPostings found;
  table.find(key, term, n_docs, nullptr, found);
  return {found.offsets(), found.offsets() + found.n};
}

}  // namespace

TEST(posting_table_empty_holds_nothing) {
  const CheckedTable table(64);
  table.check(0);
  table.check(64);
  CHECK_EQ(table.table().memory_bytes(), 0);
  table.table().prefetch(text::term_key("word"));
}

// Inline up to four postings, then a block of eight, then blocks that grow by halves.
TEST(posting_table_lists_grow_over_every_border) {
  CheckedTable table(600);
  for (uint32_t doc = 0; doc < 600; ++doc) {
    table.append("everywhere", static_cast<uint16_t>(doc), 1 + doc % 40, doc);
    if (doc % 3 == 0) table.append("third", static_cast<uint16_t>(doc), 2, doc);
    if (doc % 100 == 0) table.append("a-rare-and-long-term", static_cast<uint16_t>(doc), 31, doc);
    if (doc < 40 || doc % 50 == 0) table.check(doc + 1);
  }
  for (const uint32_t n_docs : {0u, 1u, 3u, 4u, 5u, 8u, 9u, 299u, 599u, 1000u}) table.check(n_docs);
}

TEST(posting_table_grows_with_its_terms) {
  CheckedTable table(3000);
  for (uint32_t doc = 0; doc < 3000; ++doc) {
    const std::string number = std::to_string(doc);
    table.append("t" + number, static_cast<uint16_t>(doc), 1, 5);
    table.append("long-term-" + number, static_cast<uint16_t>(doc), 1, 5);
    if (doc < 30 || doc % 500 == 0) table.check(doc + 1);
  }
  table.check(3000);
  CHECK(table.table().memory_bytes() < 6000 * 100);
}

TEST(posting_table_counts_deleted_documents_in_every_shape) {
  for (uint32_t n = 1; n <= 40; ++n) {  // deletions before, while and after the list leaves the slot
    std::mt19937 random(n);
    CheckedTable table(200);
    uint32_t n_docs = 0;
    std::vector<uint16_t> alive;
    while (n_docs < n) {
      table.append("word", static_cast<uint16_t>(n_docs), 1, n_docs);
      if (n_docs % 2) table.append("another-long-one", static_cast<uint16_t>(n_docs), 1, n_docs);
      alive.push_back(static_cast<uint16_t>(n_docs++));
      if (random() % 3 == 0) {
        const size_t at = random() % alive.size();
        table.kill(alive[at]);
        alive.erase(alive.begin() + static_cast<ptrdiff_t>(at));
      }
      table.check(n_docs);
    }
  }
}

TEST(posting_table_undo_takes_back_the_last_document) {
  for (const uint32_t n : {0u, 1u, 3u, 4u, 5u, 7u, 8u, 9u, 12u, 13u}) {
    CheckedTable table(100);
    for (uint32_t doc = 0; doc < n; ++doc) table.append("word", static_cast<uint16_t>(doc), 1, doc);
    table.append("word", static_cast<uint16_t>(n), 9, 3);
    table.undo("word", static_cast<uint16_t>(n));
    table.check(n + 1);
    for (uint32_t doc = n; doc < n + 20; ++doc) {
      table.append("word", static_cast<uint16_t>(doc), 2, doc);
      table.check(doc + 1);
    }
  }
}

TEST(posting_table_undo_of_an_absent_posting_changes_nothing) {
  PostingTable table;
  table.undo(text::term_key("word"), "word", 0);
  table.append(text::term_key("word"), "word", 3, pack_payload(1, 1), nullptr);
  table.undo(text::term_key("word"), "word", 4);
  table.undo(text::term_key("other"), "other", 3);
  CHECK_EQ(offsets_of(table, text::term_key("word"), "word", 10), std::vector<uint16_t>{3});
}

// Two long terms may have the same key: the bytes decide. (No such terms are known, so the keys are made up;
// a table that builds its dictionary with these terms in it would notice, so the tables here do not change
// their form.)
TEST(posting_table_tells_long_terms_with_one_key_apart) {
  const uint64_t key = text::kHashedTermFlag | 42;
  const std::string terms[] = {"collision-one", "collision-two", "collision-on", std::string(255, 'x'),
                               std::string(254, 'x')};
  for (const auto& [first, end] : {std::pair<uint16_t, uint16_t>{0, 16}, {100, 160}}) {
    PostingTable table;
    for (uint16_t doc = first; doc < end; ++doc)
      table.append(key, terms[doc % 5], doc, pack_payload(1, 1), nullptr);
    CHECK_EQ(table.n_terms(), 5);
    for (uint16_t t = 0; t < 5; ++t) {
      std::vector<uint16_t> expected;
      for (uint16_t doc = first; doc < end; ++doc)
        if (doc % 5 == t) expected.push_back(doc);
      CHECK_EQ(offsets_of(table, key, terms[t], end), expected);
    }
    CHECK(offsets_of(table, key, "collision-three", end).empty());
    CHECK(offsets_of(table, key + 1, terms[0], end).empty());
  }
}

// With and without a dictionary.
TEST(posting_table_lists_its_terms_in_the_order_of_their_stored_keys) {
  for (const uint32_t n_terms : {20u, 900u}) {
    PostingTable table;
    std::vector<std::pair<uint64_t, std::string>> expected, listed;
    for (uint32_t t = 0; t < n_terms; ++t) {
      const std::string term = (t % 2 ? "t" : "a-long-term-") + std::to_string(t);
      table.append(text::term_key(term), term, 0, pack_payload(1, 1), nullptr);
      expected.emplace_back(text::stored_term_key(term), t % 2 ? "" : term);
    }
    table.for_each([&](const PostingTable::List& list) {
      listed.emplace_back(list.key, list.long_term);
      CHECK_EQ(list.n, 1u);
    });
    std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return a.first == b.first ? a.second < b.second : scrubjay::lexical::is_stored_before(a.first, b.first);
    });
    CHECK(listed == expected);
  }
}

// With equal lower halves, and with equal upper halves.
TEST(posting_table_without_a_dictionary_tells_terms_apart) {
  CheckedTable table(16);
  const std::string terms[] = {"abcd", "abcde", "abcdef",   "abcdefg",   "abcdxfg",
                               "a",    "b",     "abcdefgh", "a-long-one"};
  for (uint32_t doc = 0; doc < 16; ++doc) {
    for (size_t t = 0; t < std::size(terms); ++t)
      if (doc % (t + 1) == 0) table.append(terms[t], static_cast<uint16_t>(doc), 1 + doc, 20 * t);
    table.check(doc + 1);
  }
  table.check_term("abcdxyz", 16);
  table.check_term("abcdefgi", 16);
}

// After sixteen documents, at a length of 128, or after 512 postings; deletions are carried over.
TEST(posting_table_builds_its_dictionary_at_every_border) {
  for (const uint32_t n_terms : {1u, 7u, 31u, 32u, 33u, 60u}) {
    for (const uint32_t long_one : {3u, 12u, 99u}) {
      std::mt19937 random(n_terms + long_one);
      CheckedTable table(40);
      for (uint32_t doc = 0; doc < 24; ++doc) {
        for (uint32_t t = 0; t < n_terms; ++t) {
          const std::string number = std::to_string(t % 3 ? t : 100 * doc + t);
          table.append((t % 2 ? "term-with-number-" : "t") + number, static_cast<uint16_t>(doc),
                       1 + random() % 40, doc == long_one ? 128 : random() % 128);
        }
        table.check(doc);
        table.check(doc + 1);
        if (doc % 3 == 1) table.kill(static_cast<uint16_t>(doc - 1));
        table.check(doc + 1);
      }
    }
  }
}

TEST(posting_table_without_a_dictionary_takes_back_documents) {
  CheckedTable table(40);
  const std::string terms[] = {"one", "two", "a-longer-one", "another-longer-one", "new"};
  for (uint32_t doc = 0; doc < 20; ++doc) {
    for (uint32_t n = 1; n <= std::size(terms); ++n) {  // fails after n terms, and finally succeeds
      for (uint32_t t = 0; t < n; ++t) table.append(terms[t], static_cast<uint16_t>(doc), 1 + n, n);
      table.check(doc);
      if (n == std::size(terms)) break;
      for (uint32_t t = 0; t < n; ++t) table.undo(terms[t], static_cast<uint16_t>(doc));
      table.check_postings(doc + 1);
    }
    table.check(doc + 1);
  }
}

// Every form of a list with a ranked bitmap: it grows with the documents, ends before they do, is dropped
// when the term has become rare, and is created again.
TEST(posting_table_ranks_long_lists) {
  for (const uint32_t stride : {1u, 2u, 7u, 13u}) {
    const uint32_t n_docs = 10'000;
    CheckedTable table(n_docs);
    bool was_ranked = false;
    for (uint32_t doc = 0; doc < n_docs; ++doc) {
      const bool rare = doc > n_docs / 5 && doc < n_docs * 9 / 10;
      if (doc % stride == 0) {
        table.append("often", static_cast<uint16_t>(doc), 1 + doc % 5, doc % 90);
        if (doc % 3 == 0) {  // a failing write
          table.undo("often", static_cast<uint16_t>(doc));
          if (doc % 2 == 0) table.append("often", static_cast<uint16_t>(doc), 1 + doc % 7, 3);
        }
      }
      if (!rare || doc % 900 == 0) table.append("at-times", static_cast<uint16_t>(doc), 2, doc % 60);
      if (doc % 997 == 0 || doc + 1 == n_docs) table.check(doc + 1);
      const base::EpochGuard guard;
      TermPostings found;
      table.table().find(text::term_key("often"), "often", doc, nullptr, found);
      was_ranked |= found.ranked() != nullptr;
    }
    CHECK(was_ranked);
    for (const uint32_t seen : {0u, 47u, 48u, 49u, 1999u, 2001u, 8999u, n_docs}) table.check(seen);
  }
  base::collect_retired();
}

TEST(posting_table_ranks_lists_that_it_adopts) {
  for (const uint32_t n : {4u, 5u, 127u, 128u, 5000u}) {
    PostingTable table;
    std::vector<uint16_t> offsets, payloads;
    for (uint32_t i = 0; i < n; ++i) {
      offsets.push_back(static_cast<uint16_t>(3 * i));
      payloads.push_back(pack_payload(1 + i % 9, i % 70));
    }
    CHECK(table.adopt(text::term_key("word"), "word", offsets, payloads));
    const base::EpochGuard guard;
    TermPostings found;
    table.find(text::term_key("word"), "word", 3 * n, nullptr, found);
    CHECK_EQ(found.n, n);
    CHECK_EQ(found.ranked() != nullptr, n >= RankedBitmap::kShortest);
    CheckedTable::check_ranked(found, 3 * n);
  }
}

TEST(posting_table_finds_many_terms_at_once) {
  std::mt19937 random(1);
  PostingTable table, empty;
  const auto name = [](uint32_t t) { return (t % 2 ? "t" : "a-long-term-") + std::to_string(t); };
  for (uint32_t doc = 0; doc < 300; ++doc) {
    for (uint32_t t = 0; t < 60; ++t) {
      if (random() % (1 + t * t / 20) != 0) continue;
      table.append(text::term_key(name(t)), name(t), static_cast<uint16_t>(doc),
                   pack_payload(1 + t % 3, doc % 9), nullptr);
    }
  }
  std::vector<std::string> names;
  for (uint32_t t = 0; t < 70; ++t) names.push_back(name(t));
  for (const size_t n : {0, 1, 15, 16, 17, 33, 70}) {
    std::vector<TermCount> terms;
    for (size_t i = 0; i < n; ++i) {
      const std::string& term = names[random() % names.size()];
      terms.push_back({term, text::term_key(term), 1, true});
    }
    for (const PostingTable* searched : {&table, &empty}) {
      for (const uint32_t n_docs : {0u, 150u, 300u}) {
        const base::EpochGuard guard;
        std::vector<TermPostings> found(n);
        searched->find_all(terms, n_docs, nullptr, found.data());
        for (size_t i = 0; i < n; ++i) {
          TermPostings expected;
          searched->find(terms[i].key, terms[i].term, n_docs, nullptr, expected);
          CHECK_EQ(found[i].n, expected.n);
          CHECK(std::equal(expected.offsets(), expected.offsets() + expected.n, found[i].offsets()));
          CHECK(std::equal(expected.payloads(), expected.payloads() + expected.n, found[i].payloads()));
          CHECK(found[i].ranked() == expected.ranked());
        }
      }
    }
  }
}

TEST(posting_table_holds_a_full_chunk) {
  PostingTable table;
  const uint64_t key = text::term_key("word");
  for (uint32_t doc = 0; doc < 65536; ++doc)
    table.append(key, "word", static_cast<uint16_t>(doc), pack_payload(1, 7), nullptr);
  const base::EpochGuard guard;
  TermPostings found;
  table.find(key, "word", 65536, nullptr, found);
  CHECK_EQ(found.n, 65536);
  CHECK_EQ(found.offsets()[65535], 65535);
  CHECK_EQ(found.max_tf, 1);
  CHECK_EQ(found.shortest.least_length_code(), 7);
  CHECK_EQ(found.max_length_code, 7);
  table.find(key, "word", 65535, nullptr, found);
  CHECK_EQ(found.n, 65535);
}

// A writer adds documents; readers must find, for the count that they loaded before, exactly the postings
// below it.
TEST(posting_table_readers_see_whole_lists_while_it_is_written) {
  PostingTable table;
  const uint32_t n_docs = 20'000;
  std::atomic<uint32_t> n_published{0};
  const auto term_of = [](uint32_t t) {
    return t % 2 ? "t" + std::to_string(t) : "a-long-term-" + std::to_string(t);
  };
  // Document d contains term t if t divides d + 1: lists of every length.
  const uint32_t n_terms = 200;
  std::vector<std::thread> readers;
  for (uint32_t r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random(r);
      for (uint32_t seen = 0; seen < n_docs;) {
        const base::EpochGuard guard;
        seen = n_published.load(std::memory_order_acquire);
        const uint32_t t = 1 + random() % n_terms;
        const std::string term = term_of(t);
        TermPostings found;
        table.find(text::term_key(term), term, seen, nullptr, found);
        CHECK_EQ(found.n, seen / t);
        for (uint32_t i = 0; i < found.n; ++i) CHECK(found.offsets()[i] == (i + 1) * t - 1);
        if (random() % 64 == 0) CheckedTable::check_ranked(found, seen);
      }
    });
  }
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    for (uint32_t t = 1; t <= n_terms; ++t) {
      if ((doc + 1) % t != 0) continue;
      const std::string term = term_of(t);
      table.append(text::term_key(term), term, static_cast<uint16_t>(doc), pack_payload(1, 1), nullptr);
    }
    n_published.store(doc + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  base::collect_retired();
}

// The same while tables are so small that they have no dictionary, get one, and are destroyed.
TEST(posting_table_readers_see_whole_lists_while_it_builds_a_dictionary) {
  constexpr uint32_t kTables = 400, kDocs = 24, kTerms = 30;
  struct Written {
    PostingTable table;
    std::atomic<uint32_t> n_published{0};
  };
  std::atomic<Written*> written{new Written};
  std::atomic<bool> done{false};
  const auto term_of = [](uint32_t t) {
    return t % 2 ? "t" + std::to_string(t) : "a-long-term-" + std::to_string(t);
  };
  std::vector<std::thread> readers;
  for (uint32_t r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random(r);
      while (!done.load()) {
        const base::EpochGuard guard;
        const Written* read = written.load(std::memory_order_acquire);
        const uint32_t seen = read->n_published.load(std::memory_order_acquire), t = 1 + random() % kTerms;
        const std::string term = term_of(t);
        TermPostings found;
        read->table.find(text::term_key(term), term, seen, nullptr, found);
        CHECK_EQ(found.n, seen / t);
        for (uint32_t i = 0; i < found.n; ++i) {
          CHECK_EQ(found.offsets()[i], (i + 1) * t - 1);
          CHECK_EQ(found.payloads()[i], pack_payload(t, found.offsets()[i]));
        }
      }
    });
  }
  for (uint32_t i = 0; i < kTables; ++i) {
    Written* current = written.load();
    for (uint32_t doc = 0; doc < kDocs; ++doc) {
      for (uint32_t t = 1; t <= kTerms; ++t) {
        if ((doc + 1) % t != 0) continue;
        const std::string term = term_of(t);
        current->table.append(text::term_key(term), term, static_cast<uint16_t>(doc), pack_payload(t, doc),
                              nullptr);
      }
      current->n_published.store(doc + 1, std::memory_order_release);
      if (doc % 8 == 0) std::this_thread::yield();
    }
    base::retire(std::unique_ptr<Written>(written.exchange(new Written)));
  }
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  delete written.load();
  base::collect_retired();
}

namespace {

// Terms of the letters a to c, some with a digit, some so long that their length byte is a letter.
std::string term_of_few_letters(uint32_t i, std::mt19937& random) {
  if (i % 7 == 6) return std::string(97 + random() % 3, 'b');
  std::string term(1 + random() % 20, 'a');
  for (char& letter : term) letter = static_cast<char>('a' + random() % 3);
  if (i % 11 == 10) term += '1';
  return term;
}

// The expected results of find_containing() for the terms of a table.
std::vector<std::string> terms_holding(const std::string& letters, const std::vector<std::string>& terms) {
  std::vector<std::string> found;
  for (const std::string& term : terms) {
    const bool all_letters =
        std::all_of(term.begin(), term.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (term.size() >= 8 && term.size() <= 48 && all_letters && term.find(letters) != std::string::npos)
      found.push_back(term);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> found_by(const PostingTable& table, const std::string& letters) {
  std::vector<std::string> found;
  table.find_containing(letters, [&](std::string_view term) { found.emplace_back(term); });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST(posting_table_finds_terms_by_letters_in_them) {
  const base::EpochGuard guard;
  std::mt19937 random(5);
  for (const uint16_t n_docs : {1, 3, 40, 400, 3000}) {
    PostingTable table;
    std::vector<std::string> terms;
    const auto check = [&] {
      for (const std::string letters : {"bbbb", "cabac", "abcabc", "bbbbbbbbbbbbbbbb", "abcd"})
        CHECK_EQ(found_by(table, letters), terms_holding(letters, terms));
    };
    for (uint16_t doc = 0; doc < n_docs; ++doc) {
      const std::string term = term_of_few_letters(doc, random);
      if (std::find(terms.begin(), terms.end(), term) != terms.end()) continue;
      table.append(text::term_key(term), term, doc, pack_payload(1, 1), nullptr);
      terms.push_back(term);
      if (doc % 500 == 300 || doc % 500 == 310) check();  // directly after an index was made, and soon after
    }
    check();
  }
  base::collect_retired();
}

// Every term present before a reader asks is found, with any index that it finds or makes.
TEST(posting_table_finds_terms_by_letters_while_it_is_written) {
  PostingTable table;
  std::mt19937 random(6);
  std::vector<std::string> terms;
  for (uint32_t i = 0; i < 20'000; ++i) terms.push_back(term_of_few_letters(i, random));
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  std::shuffle(terms.begin(), terms.end(), random);
  std::atomic<size_t> n_written{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      const std::string letters = r == 0 ? "abcab" : "ccbbaa";
      for (size_t n = 0; n < terms.size();) {
        n = n_written.load(std::memory_order_acquire);
        const base::EpochGuard guard;
        const std::vector<std::string> found = found_by(table, letters);
        const std::vector<std::string> before =
            terms_holding(letters, {terms.begin(), terms.begin() + static_cast<ptrdiff_t>(n)});
        CHECK(std::includes(found.begin(), found.end(), before.begin(), before.end()));
        CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
        for (const std::string& term : found) CHECK(term.find(letters) != std::string::npos);
      }
    });
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto doc = static_cast<uint16_t>(std::min<size_t>(i, 65'000));
    table.append(text::term_key(terms[i]), terms[i], doc, pack_payload(1, 1), nullptr);
    n_written.store(i + 1, std::memory_order_release);
    if (i % 64 == 0) std::this_thread::yield();
  }
  for (std::thread& reader : readers) reader.join();
  base::collect_retired();
}
