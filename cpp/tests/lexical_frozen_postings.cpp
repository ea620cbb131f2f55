// Frozen postings: the same results as a table that was written, while they are frozen and afterwards;
// base::Corrupt for invalid input.
#include "lexical/frozen_postings.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "check.hpp"
#include "lexical/posting_table.hpp"

namespace {

using namespace scrubjay;
using lexical::FrozenPostings;
using lexical::pack_payload;
using lexical::PostingTable;
using lexical::TermPostings;

using Lists = std::map<std::string, std::vector<uint16_t>>;  // documents by term

constexpr uint32_t kDocs = 900;

// Lengths, and with them payloads, follow from the document.
uint32_t length_of(uint32_t doc) { return 1 + doc % 200; }
uint32_t frequency_of(const std::string& term, uint32_t doc) {
  return 1 + static_cast<uint32_t>((term.size() + doc) % 5);
}

// The sections of an image, which a test may change.
struct Parts {
  explicit Parts(const Lists& lists) {
    std::vector<std::pair<uint64_t, std::string>> order;
    for (const auto& [term, docs] : lists) order.emplace_back(text::stored_term_key(term), term);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.first == b.first ? a.second < b.second : lexical::is_stored_before(a.first, b.first);
    });
    for (const auto& [key, term] : order) {
      const std::vector<uint16_t>& docs = lists.at(term);
      if (text::is_packed(key)) {
        keys.push_back(key);
      } else {
        long_terms.push_back(static_cast<char>(term.size()));
        long_terms.insert(long_terms.end(), term.begin(), term.end());
      }
      counts.push_back(static_cast<uint16_t>(docs.size() - 1));
      std::vector<uint16_t> own;
      for (const uint16_t doc : docs) own.push_back(pack_payload(frequency_of(term, doc), length_of(doc)));
      if (docs.size() > FrozenPostings::kMostBare) bounds.push_back(FrozenPostings::bounds_of(own));
      offsets.insert(offsets.end(), docs.begin(), docs.end());
      payloads.insert(payloads.end(), own.begin(), own.end());
    }
    for (uint32_t doc = 0; doc < kDocs; ++doc) codes.push_back(static_cast<uint16_t>(length_of(doc)));
  }
  template <class T>
  static std::string_view bytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  [[nodiscard]] FrozenPostings::Source source() const {
    return {static_cast<uint32_t>(counts.size()),
            bytes(keys),
            bytes(counts),
            bytes(bounds),
            bytes(offsets),
            bytes(payloads),
            long_terms,
            codes};
  }
  std::vector<uint64_t> keys;
  std::vector<uint16_t> counts, offsets, payloads, codes;
  std::vector<FrozenPostings::Bounds> bounds;
  std::vector<char> long_terms;
};

void append(PostingTable& table, const std::string& term, uint16_t doc) {
  table.append(text::term_key(term), term, doc, pack_payload(frequency_of(term, doc), length_of(doc)),
               nullptr);
}

Lists random_lists(unsigned seed, size_t n_terms) {
  std::mt19937 random(seed);
  Lists lists;
  for (size_t t = 0; t < n_terms; ++t) {
    const std::string term = (t % 2 ? "t" : "a-longer-term-") + std::to_string(random() % 100000);
    const uint32_t one_in = t % 9 == 0 ? 3 : t % 5 == 0 ? 40 : 600;
    std::vector<uint16_t> docs;
    for (uint32_t doc = 0; doc < kDocs; ++doc)
      if (random() % one_in == 0) docs.push_back(static_cast<uint16_t>(doc));
    if (!docs.empty()) lists[term] = docs;
  }
  return lists;
}

void check_same(const PostingTable& a, const PostingTable& b, const std::string& term, uint32_t n_docs,
                const base::Bitmap* dead) {
  TermPostings left, right;
  a.find(text::term_key(term), term, n_docs, dead, left);
  b.find(text::term_key(term), term, n_docs, dead, right);
  CHECK_EQ(left.n, right.n);
  CHECK(std::equal(left.offsets(), left.offsets() + left.n, right.offsets()));
  CHECK(std::equal(left.payloads(), left.payloads() + left.n, right.payloads()));
  if (left.n == 0) return;
  CHECK_EQ(left.n_dead, right.n_dead);
  CHECK_EQ(left.max_tf, right.max_tf);
  CHECK_EQ(left.max_length_code, right.max_length_code);
  CHECK_EQ(left.shortest.packed(), right.shortest.packed());
  CHECK_EQ(left.ranked() != nullptr, right.ranked() != nullptr);
  for (uint32_t i = 0; left.ranked() && i < left.n; ++i) CHECK(left.ranked()->holds(left.offsets()[i]));
}

void check_all(const PostingTable& a, const PostingTable& b, const Lists& lists, uint32_t n_docs,
               const base::Bitmap* dead = nullptr) {
  const base::EpochGuard guard;
  for (const auto& [term, docs] : lists) {
    check_same(a, b, term, n_docs, dead);
    check_same(a, b, term + "x", n_docs, dead);
  }
}

}  // namespace

TEST(frozen_postings_answer_as_if_they_had_been_written) {
  for (const size_t n_terms : {1u, 2u, 30u, 2000u}) {
    const Lists lists = random_lists(static_cast<unsigned>(n_terms), n_terms);
    PostingTable written, frozen;
    for (uint32_t doc = 0; doc < kDocs; ++doc) {
      for (const auto& [term, docs] : lists)
        if (std::binary_search(docs.begin(), docs.end(), doc))
          append(written, term, static_cast<uint16_t>(doc));
    }
    frozen.freeze(Parts(lists).source());
    CHECK_EQ(frozen.n_terms(), written.n_terms());
    CHECK_EQ(frozen.n_postings(), written.n_postings());
    for (const uint32_t n_docs : {kDocs, 400u, 1u, 0u}) check_all(written, frozen, lists, n_docs);
    std::vector<std::pair<uint64_t, uint32_t>> left, right;
    written.for_each([&](const PostingTable::List& list) { left.emplace_back(list.key, list.n); });
    frozen.for_each([&](const PostingTable::List& list) { right.emplace_back(list.key, list.n); });
    CHECK(left == right);

    // What a reader found before the first write does not change.
    const base::EpochGuard guard;
    const std::string& first = lists.begin()->first;
    TermPostings before;
    frozen.find(text::term_key(first), first, kDocs, nullptr, before);
    const std::vector<uint16_t> offsets(before.offsets(), before.offsets() + before.n);
    for (const auto& [term, docs] : lists) {
      append(written, term, kDocs);
      append(frozen, term, kDocs);
    }
    append(written, "another-term-that-is-new", kDocs);
    append(frozen, "another-term-that-is-new", kDocs);
    CHECK(std::equal(offsets.begin(), offsets.end(), before.offsets()));
    check_all(written, frozen, lists, kDocs + 1);
    check_all(written, frozen, lists, kDocs);

    base::Bitmap dead(kDocs + 1);
    for (uint16_t doc = 0; doc < kDocs; doc = static_cast<uint16_t>(doc + 7)) {
      dead.set(doc);
      for (const auto& [term, docs] : lists) {
        if (!std::binary_search(docs.begin(), docs.end(), doc)) continue;
        written.count_dead(text::term_key(term), term, doc);
        frozen.count_dead(text::term_key(term), term, doc);
      }
    }
    check_all(written, frozen, lists, kDocs + 1, &dead);
  }
}

// All in one entry of the directory: bisection.
TEST(frozen_postings_find_terms_that_were_chosen_to_meet) {
  std::mt19937 random(3);
  constexpr size_t kTerms = 100;
  Lists lists;
  while (lists.size() < kTerms) {
    std::string term;
    for (int i = 0; i < 7; ++i) term.push_back(static_cast<char>('a' + random() % 26));
    if ((lexical::stored_order(text::stored_term_key(term)) >> 32) * kTerms >> 32 == 41)
      lists[term] = {static_cast<uint16_t>(lists.size())};
  }
  PostingTable frozen;
  frozen.freeze(Parts(lists).source());
  const base::EpochGuard guard;
  for (const auto& [term, docs] : lists) {
    TermPostings found;
    frozen.find(text::term_key(term), term, kDocs, nullptr, found);
    CHECK_EQ(found.n, 1u);
    CHECK_EQ(found.offsets()[0], docs[0]);
    frozen.find(text::term_key("q" + term.substr(1)), "q" + term.substr(1), kDocs, nullptr, found);
    CHECK_EQ(found.n, lists.count("q" + term.substr(1)));
  }
}

TEST(frozen_postings_refuse_malformed_bytes) {
  const Lists lists = random_lists(5, 60);
  const auto refused = [&](auto&& change) {
    Parts parts(lists);
    change(parts);
    PostingTable table;
    CHECK_THROWS(table.freeze(parts.source()), base::Corrupt);
    CHECK_EQ(table.n_terms(), 0u);
  };
  refused([](Parts& parts) { std::swap(parts.keys[0], parts.keys[1]); });
  refused([](Parts& parts) { parts.keys[1] = parts.keys[0]; });
  refused([](Parts& parts) { parts.keys[0] = 0; });
  refused([](Parts& parts) { parts.keys[0] |= uint64_t{1} << 63; });
  refused([](Parts& parts) { parts.long_terms[0] = 7; });
  refused([](Parts& parts) { parts.long_terms.pop_back(); });
  refused([](Parts& parts) { parts.long_terms.push_back(9); });
  refused([](Parts& parts) { ++parts.counts[0]; });
  refused([](Parts& parts) { parts.counts.back() = 0xffff; });
  refused([](Parts& parts) { parts.offsets.back() = kDocs; });
  refused([](Parts& parts) { parts.payloads[0] = static_cast<uint16_t>(parts.payloads[0] ^ 1); });
  refused([](Parts& parts) { parts.payloads[0] &= lexical::kMaxLengthCode; });
  refused([](Parts& parts) { parts.payloads.pop_back(); });
  refused([](Parts& parts) { parts.bounds.pop_back(); });
  refused([](Parts& parts) { parts.bounds.push_back({}); });
  refused([](Parts& parts) { parts.bounds[0].ranked = 1; });
  refused([](Parts& parts) { parts.bounds[0].shortest = 0xfefefefe; });
  refused([](Parts& parts) { parts.bounds[0].greatest = 0; });
  refused([](Parts& parts) {
    size_t first = 0;
    for (const uint16_t count : parts.counts) {
      if (count > 0) break;
      first += 1;
    }
    std::swap(parts.offsets[first], parts.offsets[first + 1]);
    std::swap(parts.payloads[first], parts.payloads[first + 1]);
  });
}
