// Frozen postings: the postings of a chunk in the layout of its image, until the chunk is written to.
//
// The dictionary is used as stored, without building a hash table: short terms, then long ones
// (text/term_key.hpp), each ordered by stored_order() of their stored keys; a directory with about one entry
// per term gives the start of a lookup. The layout does not depend on the process's hash seed, and a lookup
// is short for any set of terms, even adversarial ones: the terms of one directory entry are searched by
// bisection. The postings of all terms are in two arrays, in the order of the terms, so that they can be
// validated in two loops.
//
// Immutable, for any number of readers. The first write replaces it by a table of slots
// (PostingTable::thaw()).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "base/place.hpp"
#include "lexical/posting.hpp"
#include "lexical/ranked_bitmap.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical {

// The order of terms in an image and in frozen postings: short terms, then long ones, each by stored_order(),
// terms of equal key by their bytes. stored_order() is a bijection, and distributes keys evenly whatever they
// have in common.
[[nodiscard]] constexpr uint64_t stored_order(uint64_t stored_key) noexcept {
  return stored_key * 0x9e3779b97f4a7c15ull;
}
[[nodiscard]] constexpr bool is_stored_before(uint64_t a, uint64_t b) noexcept {
  if (text::is_packed(a) != text::is_packed(b)) return text::is_packed(a);
  return stored_order(a) < stored_order(b);
}

class FrozenPostings {
 public:
  static constexpr uint32_t kMostBare = 4;  // a list of at most this many postings has no bounds

  // Bounds of a list of more than kMostBare postings.
  struct Bounds {
    uint16_t greatest = 0;  // packed like a payload: the greatest term frequency and the greatest length code
    uint16_t ranked = 0;    // in memory: 1 + index of its ranked bitmap; 0: no bitmap
    uint32_t shortest = 0;  // Shortest
  };
  static_assert(sizeof(Bounds) == 8);
  [[nodiscard]] static Bounds bounds_of(std::span<const uint16_t> payloads) noexcept;

  // The sections of an image.
  struct Source {
    uint32_t n_terms = 0;
    std::string_view short_keys;                  // 64 bits each
    std::string_view counts;                      // number of postings less one, 16 bits each
    std::string_view bounds;                      // of the lists that have bounds
    std::string_view offsets;                     // 16 bits each
    std::string_view payloads;                    // 16 bits each
    std::span<const char> long_terms;             // each after a length byte; not copied
    std::span<const uint16_t> length_codes = {};  // of the documents
  };
  struct Destroy {
    void operator()(FrozenPostings* frozen) const noexcept { destroy(frozen); }
  };
  using Owner = std::unique_ptr<FrozenPostings, Destroy>;
  // Throws base::Corrupt unless everything is in range and in order, and each posting has its document's
  // length code.
  [[nodiscard]] static Owner make(const Source& source);
  // The same in two steps, for bytes that arrive later: place() allocates, and appends the places of bounds,
  // offsets and payloads; settle() checks them and the rest of the source.
  [[nodiscard]] static Owner place(uint32_t n_terms, uint32_t n_short, uint32_t n_bounds, uint32_t n_postings,
                                   std::vector<base::Place>& out);
  void settle(const Source& source);
  // Deletes the ranked bitmaps, too, unless they were released.
  static void destroy(void* raw) noexcept;
  FrozenPostings(const FrozenPostings&) = delete;
  FrozenPostings& operator=(const FrozenPostings&) = delete;

  struct List {
    const uint16_t* offsets = nullptr;
    const uint16_t* payloads = nullptr;
    uint32_t n = 0;
    Bounds bounds;  // zero for a short list
  };

  [[nodiscard]] uint32_t n_terms() const noexcept { return size_.n_terms; }
  [[nodiscard]] size_t n_postings() const noexcept { return size_.n_postings; }
  [[nodiscard]] size_t memory_bytes() const noexcept;
  [[nodiscard]] size_t ranked_bytes() const noexcept { return ranked_bytes_; }

  // Returns the index of the term with this stored key, or n_terms(). `long_terms` as in the source.
  [[nodiscard]] uint32_t find(uint64_t stored_key, std::string_view term,
                              const char* long_terms) const noexcept;
  // Prefetches the directory entry for find(); and, once that is cached, the term.
  void prefetch_directory(uint64_t stored_key) const noexcept {
    __builtin_prefetch(directory() + bucket_of(stored_key));
  }
  void prefetch_term(uint64_t stored_key) const noexcept {
    __builtin_prefetch(terms() + directory()[bucket_of(stored_key)]);
  }
  void prefetch_list(uint32_t term) const noexcept {
    __builtin_prefetch(offsets() + terms()[term].first);
    __builtin_prefetch(payloads() + terms()[term].first);
  }

  [[nodiscard]] uint64_t key(uint32_t term) const noexcept { return terms()[term].key; }
  // For a long term: the offset of its bytes.
  [[nodiscard]] uint32_t term_at(uint32_t term) const noexcept { return terms()[term].term_at; }
  [[nodiscard]] List list(uint32_t term) const noexcept;
  [[nodiscard]] RankedBitmap* ranked(const Bounds& bounds) const noexcept {
    return bounds.ranked == 0 ? nullptr : ranked_[bounds.ranked - 1];
  }
  // Transfers the ownership of the bitmaps to the caller.
  void release_ranked() noexcept { owns_ranked_ = false; }

 private:
  struct Term {
    uint64_t key;    // stored
    uint32_t first;  // posting
    uint32_t n;
    uint32_t term_at;
    uint32_t bounds;  // index of its bounds; past the last one: no bounds
  };
  static_assert(sizeof(Term) == 24);
  static constexpr uint32_t kEnds =
      3;  // of the directory: after the short terms, after the long ones, and a spare for no long terms
  struct Size {
    uint32_t n_terms, n_short, n_bounds, n_postings;
    [[nodiscard]] size_t bytes() const noexcept;
  };

  explicit FrozenPostings(const Size& size) noexcept : size_(size) {}
  ~FrozenPostings();
  void read_terms(const Source& source);
  void check_postings(const Source& source) const;
  void rank(uint32_t term);
  // The directory entry for a key.
  [[nodiscard]] uint32_t bucket_of(uint64_t stored_key) const noexcept {
    const uint64_t order = stored_order(stored_key) >> 32;
    if (text::is_packed(stored_key)) return static_cast<uint32_t>((order * size_.n_short) >> 32);
    return size_.n_short + 1 + static_cast<uint32_t>((order * (size_.n_terms - size_.n_short)) >> 32);
  }
  [[nodiscard]] bool is_before(const Term& term, uint64_t stored_key, std::string_view bytes,
                               const char* long_terms) const noexcept;

  // Follow the object in memory: terms; bounds; the directory (the first term of each entry, for short terms
  // and for long terms, each with an end); offsets; payloads.
  [[nodiscard]] const Term* terms() const noexcept { return reinterpret_cast<const Term*>(this + 1); }
  [[nodiscard]] const Bounds* bounds() const noexcept {
    return reinterpret_cast<const Bounds*>(terms() + size_.n_terms);
  }
  [[nodiscard]] const uint32_t* directory() const noexcept {
    return reinterpret_cast<const uint32_t*>(bounds() + size_.n_bounds);
  }
  [[nodiscard]] const uint16_t* offsets() const noexcept {
    return reinterpret_cast<const uint16_t*>(directory() + size_.n_terms + kEnds);
  }
  [[nodiscard]] const uint16_t* payloads() const noexcept { return offsets() + size_.n_postings; }
  template <class T>
  [[nodiscard]] static T* to_fill(const T* part) noexcept {
    return const_cast<T*>(part);
  }

  const Size size_;
  size_t ranked_bytes_ = 0;
  std::vector<RankedBitmap*> ranked_;
  bool owns_ranked_ = true;
};
static_assert(sizeof(FrozenPostings) % alignof(uint64_t) == 0);

}  // namespace scrubjay::lexical
