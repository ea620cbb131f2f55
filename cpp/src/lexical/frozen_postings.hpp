// Frozen postings: the postings of a chunk as its image has them, until the chunk is written to.
//
// A dictionary that is read as it lies, without being built: terms ascend by stored_order() of their stored keys, a
// directory of about one term an entry says where a look-up begins, and the postings of a term lie together. Nothing
// in it depends on the process's hash seed, and no term is far from where its look-up begins, whoever chose the
// terms: what falls into one entry of the directory is searched by halves.
//
//     list of n postings    n > 4: its bounds (posting.hpp); then n offsets, n payloads, of 16 bits each
//
// Immutable: any number of readers. The first write replaces it by a table of slots (PostingTable::thaw()).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "lexical/posting.hpp"
#include "lexical/ranked_bitmap.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

// The order of terms in an image and in frozen postings: by this of their stored keys, those of one key by their bytes.
// Distinct for distinct keys, and spread whatever the keys have in common.
[[nodiscard]] constexpr uint64_t stored_order(uint64_t stored_key) noexcept {
  return stored_key * 0x9e3779b97f4a7c15ull;
}

class FrozenPostings {
 public:
  static constexpr uint32_t kMostBare = 4;  // postings of a list without bounds

  // Of a list of more than kMostBare postings, before its offsets.
  struct Bounds {
    uint16_t greatest;  // the greatest term frequency and the greatest length code, as in a payload
    uint16_t ranked;    // in memory: 1 + the number of its ranked bitmap; 0: it has none
    uint32_t shortest;  // Shortest
  };
  static_assert(sizeof(Bounds) == 8);

  // Numbers of 16 bits that a list takes.
  [[nodiscard]] static constexpr uint64_t list_units(uint32_t n) noexcept {
    return 2 * uint64_t{n} + (n > kMostBare ? sizeof(Bounds) / sizeof(uint16_t) : 0);
  }
  // The bounds of a list as an image has them.
  [[nodiscard]] static Bounds bounds_of(std::span<const uint16_t> payloads) noexcept;

  // The parts of an image.
  struct Source {
    uint32_t n_terms = 0;
    std::string_view keys;    // stored, 64 bits each
    std::string_view counts;  // postings less one, 16 bits each
    std::string_view lists;
    std::span<const char> long_terms;            // in the order of the terms, each behind a length byte; they stay
    std::span<const uint16_t> length_codes = {};  // of the documents
  };
  struct Destroy {
    void operator()(FrozenPostings* frozen) const noexcept { destroy(frozen); }
  };
  using Owner = std::unique_ptr<FrozenPostings, Destroy>;
  // Throws base::Corrupt unless everything is in range and in order, and each posting has its document's length.
  [[nodiscard]] static Owner make(const Source& source);
  // Deletes the ranked bitmaps, unless they were released.
  static void destroy(void* raw) noexcept;
  FrozenPostings(const FrozenPostings&) = delete;
  FrozenPostings& operator=(const FrozenPostings&) = delete;

  struct List {
    const uint16_t* offsets = nullptr;
    const uint16_t* payloads = nullptr;
    uint32_t n = 0;
    Bounds bounds{};  // zero of a short list
  };

  [[nodiscard]] uint32_t n_terms() const noexcept { return n_terms_; }
  [[nodiscard]] size_t n_postings() const noexcept { return n_postings_; }
  [[nodiscard]] size_t memory_bytes() const noexcept;
  [[nodiscard]] size_t ranked_bytes() const noexcept { return ranked_bytes_; }

  // The number of a term with this stored key; n_terms() if there is none. `long_terms` as of the source.
  [[nodiscard]] uint32_t find(uint64_t stored_key, std::string_view term,
                              const char* long_terms) const noexcept;
  // Asks for where find() begins; and, once that is here, for the term.
  void prefetch_directory(uint64_t stored_key) const noexcept {
    __builtin_prefetch(directory() + bucket_of(stored_order(stored_key)));
  }
  void prefetch_term(uint64_t stored_key) const noexcept {
    __builtin_prefetch(terms() + directory()[bucket_of(stored_order(stored_key))]);
  }

  [[nodiscard]] uint64_t key(uint32_t term) const noexcept { return terms()[term].key; }
  // Of a long term: where its bytes begin.
  [[nodiscard]] uint32_t term_at(uint32_t term) const noexcept { return terms()[term].term_at; }
  [[nodiscard]] List list(uint32_t term) const noexcept;
  [[nodiscard]] RankedBitmap* ranked(const Bounds& bounds) const noexcept {
    return bounds.ranked == 0 ? nullptr : ranked_[bounds.ranked - 1];
  }
  // The bitmaps have another owner from here on.
  void release_ranked() noexcept { owns_ranked_ = false; }

 private:
  struct Term {
    uint64_t key;  // stored
    uint32_t list;
    uint32_t term_at;
  };
  static_assert(sizeof(Term) == 16);

  FrozenPostings(uint32_t n_terms, uint64_t n_units) noexcept : n_terms_(n_terms), n_units_(n_units) {}
  ~FrozenPostings();
  [[nodiscard]] static size_t bytes(uint32_t n_terms, uint64_t n_units) noexcept;
  void read_terms(const Source& source);
  void read_lists(const Source& source);
  void check_list(List list, std::span<const uint16_t> length_codes) const;
  void rank(uint32_t term);
  [[nodiscard]] uint32_t bucket_of(uint64_t order) const noexcept {
    return static_cast<uint32_t>(((order >> 32) * n_terms_) >> 32);
  }
  [[nodiscard]] bool is_before(const Term& term, uint64_t order, uint64_t stored_key, std::string_view bytes,
                               const char* long_terms) const noexcept;

  // Behind the object: the terms and one more, where the lists of the terms in each bucket begin, the lists.
  [[nodiscard]] Term* terms() noexcept { return reinterpret_cast<Term*>(this + 1); }
  [[nodiscard]] const Term* terms() const noexcept { return reinterpret_cast<const Term*>(this + 1); }
  [[nodiscard]] uint32_t* directory() noexcept { return reinterpret_cast<uint32_t*>(terms() + n_terms_ + 1); }
  [[nodiscard]] const uint32_t* directory() const noexcept {
    return reinterpret_cast<const uint32_t*>(terms() + n_terms_ + 1);
  }
  [[nodiscard]] uint16_t* units() noexcept { return reinterpret_cast<uint16_t*>(directory() + n_terms_ + 1); }
  [[nodiscard]] const uint16_t* units() const noexcept {
    return reinterpret_cast<const uint16_t*>(directory() + n_terms_ + 1);
  }

  const uint32_t n_terms_;
  const uint64_t n_units_;
  size_t n_postings_ = 0;
  size_t ranked_bytes_ = 0;
  std::vector<RankedBitmap*> ranked_;
  bool owns_ranked_ = true;
};
static_assert(sizeof(FrozenPostings) % alignof(uint64_t) == 0);

}  // namespace scrubjay::lexical
