// Posting table: the postings of one chunk, by term.
//
// An open-addressing dictionary from term to postings (probe limit: base/probing.hpp). A slot of 32 bytes
// holds up to four postings inline (most terms of a chunk occur once or twice); longer lists are in a block
// of two parallel arrays, offsets and payloads, that grows by halves, later by quarters. Terms of up to seven
// bytes are their own key; longer ones are verified against their bytes. A chunk of a few short documents
// (there may be a million such chunks) has no dictionary: its postings are in the order of writing
// (tiny_postings.hpp). A chunk that came from an image and has not been written to since keeps its postings
// in the layout of the image (frozen_postings.hpp).
//
// One writer, any number of readers. The writer appends the postings of a document before the document is
// published, so a reader cuts every list at the document count of its snapshot (`n_docs`), which it loaded
// *before* it called find(). Readers hold a base::EpochGuard while they use the results of find().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/access.hpp"
#include "base/bitmap.hpp"
#include "base/growing.hpp"
#include "base/probing.hpp"
#include "lexical/frozen_postings.hpp"
#include "lexical/posting.hpp"
#include "lexical/ranked_bitmap.hpp"
#include "lexical/term_counts.hpp"
#include "lexical/term_prefixes.hpp"
#include "lexical/tiny_postings.hpp"
#include "text/two_edits.hpp"

namespace scrubjay::lexical {

inline constexpr uint32_t kMaxInline = 4;  // per slot

// The postings of one term in one chunk as of a snapshot, ascending by document. Plain data; inline postings
// are copied, so the object must not be moved while offsets() or payloads() are in use.
class TermPostings {
 public:
  uint32_t n = 0;       // postings, those of deleted documents included
  uint32_t n_dead = 0;  // number of those that belong to deleted documents
  uint32_t max_tf = 0;  // bounds over the list (possibly including postings beyond the snapshot)
  uint32_t max_length_code = 0;
  Shortest shortest;

  TermPostings() noexcept {}  // leaves the copies uninitialised: most are never read

  [[nodiscard]] const uint16_t* offsets() const noexcept { return offsets_ ? offsets_ : inline_offsets_; }
  [[nodiscard]] const uint16_t* payloads() const noexcept { return payloads_ ? payloads_ : inline_payloads_; }
  // Null if the list is short or sparse.
  [[nodiscard]] const RankedBitmap* ranked() const noexcept { return ranked_; }

 private:
  friend class PostingTable;
  const uint16_t* offsets_ = nullptr;
  const uint16_t* payloads_ = nullptr;
  const RankedBitmap* ranked_ = nullptr;
  static constexpr uint32_t kMaxCopied = TinyPostings::kDocs;
  static_assert(kMaxCopied >= kMaxInline);
  uint16_t inline_offsets_[kMaxCopied];
  uint16_t inline_payloads_[kMaxCopied + 2];  // a kernel may read two bytes beyond
};

class PostingTable {
 public:
  PostingTable() = default;
  PostingTable(const PostingTable&) = delete;
  PostingTable& operator=(const PostingTable&) = delete;
  ~PostingTable();

  // --- for the writer ----------------------------------------------------------------------------
  // Throughout, `key` is text::term_key(term).
  // Adds a posting for the not yet published document `offset`; offsets ascend. `dead` is the published
  // bitmap of deleted documents, or null. May throw std::bad_alloc, and then has changed nothing.
  void append(uint64_t key, std::string_view term, uint16_t offset, uint16_t payload,
              const base::Bitmap* dead);
  // Makes room for the postings of the next document in a table without a dictionary, so that it grows once
  // and by little. Without this call append() grows it.
  void expect(size_t n_more, uint32_t offset, uint32_t length_code);
  // Takes back append() for a document that was never published.
  void undo(uint64_t key, std::string_view term, uint16_t offset) noexcept;
  // Counts one more posting of a deleted document. Only inside the partition's publication (readers retry).
  void count_dead(uint64_t key, std::string_view term, uint16_t offset) noexcept;

  // --- for the writer: compaction (engine/chunk_rewrite.hpp) ---------------------------------------
  static constexpr uint32_t kGone = 0xffffffffu;
  // Appends the postings of the published documents [first, renumbered.size()) of `from`, whose writer may
  // continue meanwhile: each as document renumbered[offset] here, without those that are kGone. The new
  // numbers ascend and follow all documents of this table. Under an epoch guard.
  void append_all(const PostingTable& from, uint32_t first, std::span<const uint32_t> renumbered);
  // Recounts the postings of deleted documents in every list. Before the table is published.
  void recount_dead(const base::Bitmap& dead) noexcept;

  // --- for the writer: images (engine/image.hpp) -------------------------------------------------
  static constexpr uint32_t kNotCounted = 0xffffffffu;
  struct List {
    uint64_t key = 0;            // text::stored_term_key(term)
    std::string_view long_term;  // the bytes of a term that is not packed in its key
    const uint16_t* offsets = nullptr;
    const uint16_t* payloads = nullptr;
    uint32_t n = 0;
    uint32_t n_dead = 0;  // kNotCounted for short lists, which are counted when they are read
  };
  // Visits every list, ordered by is_stored_before() of the keys, then by long_term: the order
  // does not depend on this table or on the process's seed. The views are valid during the call.
  // May throw std::bad_alloc.
  void for_each(const std::function<void(const List&)>& visit) const;
  // Adds the list of a term; offsets ascend, and no document is deleted. Returns false, without a change, if
  // the term already has a list.
  [[nodiscard]] bool adopt(uint64_t key, std::string_view term, std::span<const uint16_t> offsets,
                           std::span<const uint16_t> payloads);
  // Whether an image is so small that it needs no dictionary: then use adopt(), otherwise freeze().
  [[nodiscard]] static bool is_tiny(size_t n_terms, uint32_t n_docs) noexcept {
    return n_docs <= TinyPostings::kDocs && n_terms <= TinyPostings::kPostings;
  }
  // Fills an empty table with the postings of an image; source.long_terms are copied. Throws base::Corrupt.
  void freeze(FrozenPostings::Source source);
  // The same for postings that were read into their places: the long terms into this one, the others as
  // FrozenPostings::place() says, and checked by settle().
  [[nodiscard]] base::Place place_long_terms(size_t n_bytes);
  void install(FrozenPostings::Owner frozen, size_t n_long_term_bytes) noexcept;
  // Builds the dictionary after freeze(). Required before the first change: append() calls it itself, before
  // count_dead() the caller must. May throw std::bad_alloc, and then has changed nothing.
  void thaw();

  // --- for readers -------------------------------------------------------------------------------
  // Finds the postings of `term` with offset < n_docs; `n` is zero if there are none.
  void find(uint64_t key, std::string_view term, uint32_t n_docs, const base::Bitmap* dead,
            TermPostings& out) const;
  // Same as find() for each of the terms, into out[0, terms.size()); prefetches for some terms while others
  // are looked up.
  void find_all(std::span<const TermCount> terms, uint32_t n_docs, const base::Bitmap* dead,
                TermPostings* out) const;
  // Calls visit(term) for the terms of 8 to 48 letters a to z that contain these letters, four or more: for
  // all terms of a snapshot's documents, and possibly for others. The view is valid until visit() returns.
  // Cost: the first time, and after the dictionary grew by an eighth, a pass over all long terms; otherwise a
  // pass over those with the rarest four of the letters.
  void find_containing(std::string_view letters, const std::function<void(std::string_view)>& visit) const;
  // Calls visit(term) for the terms of 4 to 48 letters a to z that a word with two edits may mean: for all terms
  // of a snapshot's documents, and possibly for others, some twice. The view is valid until visit() returns.
  // Cost: a pass over the terms that begin with the word's first letter (term_starts.hpp), after that of
  // prefixes().
  void find_near(const text::TwoEdits& word, const std::function<void(std::string_view)>& visit) const;
  // Prefetches the cache line where find() looks first.
  void prefetch(uint64_t key) const noexcept;

  // Prefixes of the terms of published documents. Null if they are unknown, because another thread is
  // computing them or there is no dictionary. Cost: the first time, and after the dictionary grew by half, a
  // pass over all terms.
  [[nodiscard]] const TermPrefixes* prefixes() const noexcept;
  // Adds the prefixes of a table without a dictionary to `out`; returns false if it has a dictionary.
  [[nodiscard]] bool add_tiny_prefixes(TermPrefixes& out) const noexcept;

  [[nodiscard]] size_t n_terms() const noexcept { return n_terms_; }        // writer
  [[nodiscard]] size_t n_postings() const noexcept { return n_postings_; }  // writer
  [[nodiscard]] size_t memory_bytes() const noexcept;                       // writer

 private:
  struct Block;
  struct Slot;
  struct Table;
  struct Listed;

  using PackedTerm = std::array<char, text::kMaxPackedBytes>;

  // Tagged pointer to the postings: null while empty, otherwise tiny, frozen or a table.
  static constexpr uintptr_t kTinyBit = 1, kFrozenBit = 2;
  [[nodiscard]] static TinyPostings* tiny_of(uintptr_t form) noexcept {
    return form & kTinyBit ? reinterpret_cast<TinyPostings*>(form - kTinyBit) : nullptr;
  }
  [[nodiscard]] static FrozenPostings* frozen_of(uintptr_t form) noexcept {
    return form & kFrozenBit ? reinterpret_cast<FrozenPostings*>(form - kFrozenBit) : nullptr;
  }
  [[nodiscard]] static Table* table_of(uintptr_t form) noexcept {
    return form & (kTinyBit | kFrozenBit) ? nullptr : reinterpret_cast<Table*>(form);
  }
  [[nodiscard]] TinyPostings* tiny() const noexcept { return tiny_of(form_.load(std::memory_order_acquire)); }
  [[nodiscard]] FrozenPostings* frozen() const noexcept {
    return frozen_of(form_.load(std::memory_order_acquire));
  }
  [[nodiscard]] Table* table() const noexcept { return table_of(form_.load(std::memory_order_acquire)); }

  [[nodiscard]] uint32_t keep_bytes(std::string_view term);
  [[nodiscard]] std::string_view long_term(uint32_t at) const noexcept;
  [[nodiscard]] std::string_view tiny_term(const TinyPostings& tiny, uint32_t i,
                                           uint64_t& key) const noexcept;
  [[nodiscard]] uint32_t find_tiny(const TinyPostings& tiny, uint64_t key,
                                   std::string_view term) const noexcept;
  [[nodiscard]] bool append_tiny(uint64_t key, std::string_view term, uint16_t offset, uint16_t payload);
  TinyPostings& grow_tiny(uint32_t n_wanted);
  void undo_tiny(TinyPostings& tiny, uint64_t key, std::string_view term, uint16_t offset) noexcept;
  void copy_tiny(const TinyPostings& tiny, uint64_t key, std::string_view term, uint32_t n_docs,
                 const base::Bitmap* dead, TermPostings& out) const noexcept;
  void append_list(uint64_t key, std::string_view term, const TermPostings& postings, uint32_t first,
                   std::span<const uint32_t> renumbered);
  void append_all_tiny(const PostingTable& from, const TinyPostings& tiny, uint32_t first,
                       std::span<const uint32_t> renumbered);
  [[nodiscard]] Listed listed(uint64_t key, uint32_t at, uint32_t term_at) const noexcept;
  void sort(std::vector<Listed>& lists) const noexcept;
  void for_each_tiny(const TinyPostings& tiny, const std::function<void(const List&)>& visit) const;
  void leave_tiny(const base::Bitmap* dead);

  void find_frozen(const FrozenPostings& frozen, std::span<const TermCount> terms, uint32_t n_docs,
                   const base::Bitmap* dead, TermPostings* out) const;
  static void read_frozen(const FrozenPostings& frozen, uint32_t term, uint32_t n_docs,
                          const base::Bitmap* dead, TermPostings& out) noexcept;
  void append_all_frozen(const PostingTable& from, const FrozenPostings& frozen, uint32_t first,
                         std::span<const uint32_t> renumbered);
  void for_each_frozen(const FrozenPostings& frozen, const std::function<void(const List&)>& visit) const;
  [[nodiscard]] uint64_t frozen_key(const FrozenPostings& frozen, uint32_t term,
                                    std::string_view& bytes) const noexcept;
  static void cut(TermPostings& list, uint32_t n_docs) noexcept;

  [[nodiscard]] Slot* find_slot(Table* table, uint64_t key, std::string_view term) const noexcept;
  [[nodiscard]] Slot& find_or_insert(uint64_t key, std::string_view term);
  template <base::Access access>
  void add_prefixes_of(uint64_t key, uint32_t term_at, TermPrefixes& out) const noexcept;
  template <class Visit>
  void visit_terms(uintptr_t form, Visit&& visit, const FrozenPostings* seen = nullptr) const;
  [[nodiscard]] std::string_view term_of(uint64_t key, uint32_t term_at, PackedTerm& buffer) const noexcept;
  void keep_prefixes(uint64_t key, uint32_t term_at) noexcept;
  [[nodiscard]] bool holds_term(const Slot& slot, uint64_t key, std::string_view term) const noexcept;
  void append_to(Slot& slot, uint16_t offset, uint16_t payload, const base::Bitmap* dead);
  static void sum_up(const base::Bitmap* dead, TermPostings& out) noexcept;
  static void destroy_lists(const Table& table) noexcept;
  static void recount_dead(const Table& table, const base::Bitmap& dead) noexcept;
  static void read_slot(const Slot& slot, uint32_t n_docs, const base::Bitmap* dead, TermPostings& out);
  void append_to_block(Slot& slot, uint32_t n, uint16_t offset, uint16_t payload);
  void rank(Slot& slot, uint32_t n, uint16_t offset);
  void set_ranked(Slot& slot, RankedBitmap* ranked) noexcept;
  void move_to_block(Slot& slot, uint16_t offset, uint16_t payload, const base::Bitmap* dead);
  Table& grow_table();
  Table& rebuild_table(size_t n_slots, base::Probing probing);

  std::atomic<uintptr_t> form_{0};
  mutable std::atomic<TermPrefixes*> prefixes_{nullptr};  // made by a reader; maintained by the writer
  base::GrowingArray<char> long_terms_;  // bytes of terms longer than seven, each after a length byte
  std::atomic<uint32_t> long_terms_bytes_{0};
  uint32_t n_terms_ = 0;
  size_t n_postings_ = 0;
  size_t block_bytes_ = 0;
  size_t ranked_bytes_ = 0;
};

}  // namespace scrubjay::lexical
