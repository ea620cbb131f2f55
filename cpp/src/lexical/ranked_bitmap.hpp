// Ranked bitmap: membership of documents in a frequent term's list, and the positions of their postings.
//
// A search in the list costs a dozen dependent steps; here it is one word: bits for 48 documents, and above
// them the number of postings before the word's first document. Only lists that are long and cover a fair
// share of the documents have one, so the memory overhead is small.
//
// One writer, any number of readers: bits are set in the order of the documents, and a word is read and
// written as a whole, so the state of the documents of a reader's snapshot never changes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "lexical/posting.hpp"
#include "simd/kernels.hpp"

namespace scrubjay::lexical {

class RankedBitmap {
 public:
  static constexpr uint32_t kDocsPerWord = simd::kRankedDocs;
  static constexpr uint32_t kShortest = 128;  // minimum length of a list with a bitmap
  static constexpr uint32_t kSparsest = 16;   // documents per posting: at most 2.7 bytes per posting

  // Whether a list of n postings, the last of which is of document `last`, should have a bitmap.
  [[nodiscard]] static constexpr bool pays(uint32_t n, uint32_t last) noexcept {
    return n >= kShortest && uint64_t{n} * kSparsest > last;
  }

  // Allocates room for as many documents as a chunk with document `last` may soon have;
  // throws std::bad_alloc.
  [[nodiscard]] static RankedBitmap* make(uint32_t last) {
    const uint32_t n_docs = std::min(last + 1 + last / 4, kMaxOffset + 1);
    const uint32_t n_words = (n_docs + kDocsPerWord - 1) / kDocsPerWord;
    auto* bitmap = new (::operator new(bytes(n_words))) RankedBitmap(n_words);
    for (uint32_t i = 0; i < n_words; ++i) new (bitmap->words() + i) std::atomic<uint64_t>(0);
    return bitmap;
  }
  static void destroy(void* raw) noexcept { ::operator delete(raw); }
  RankedBitmap(const RankedBitmap&) = delete;
  RankedBitmap& operator=(const RankedBitmap&) = delete;

  [[nodiscard]] bool has_room(uint32_t offset) const noexcept { return offset / kDocsPerWord < n_words_; }
  [[nodiscard]] size_t memory_bytes() const noexcept { return bytes(n_words_); }

  // Adds a document whose posting is number `position` of the list. Documents ascend.
  void add(uint32_t offset, uint32_t position) noexcept {
    std::atomic<uint64_t>& word = words()[offset / kDocsPerWord];
    const uint64_t bit = uint64_t{1} << (offset % kDocsPerWord);
    uint64_t value = word.load(std::memory_order_relaxed);
    // A word without bits may still have the rank of a posting that was taken back.
    if (value << (64 - kDocsPerWord) == 0) value = uint64_t{position} << kDocsPerWord;
    word.store(value | bit, std::memory_order_release);
  }
  // Takes back the last document that was added.
  void remove_last(uint32_t offset) noexcept {
    std::atomic<uint64_t>& word = words()[offset / kDocsPerWord];
    const uint64_t bit = uint64_t{1} << (offset % kDocsPerWord);
    word.store(word.load(std::memory_order_relaxed) & ~bit, std::memory_order_release);
  }
  void add_all(const uint16_t* offsets, uint32_t n) noexcept {
    for (uint32_t i = 0; i < n;) {
      const uint32_t at = offsets[i] / kDocsPerWord, first = at * kDocsPerWord;
      uint64_t value = words()[at].load(std::memory_order_relaxed);
      if (value << (64 - kDocsPerWord) == 0) value = uint64_t{i} << kDocsPerWord;
      for (; i < n && offsets[i] < first + kDocsPerWord; ++i) value |= uint64_t{1} << (offsets[i] - first);
      words()[at].store(value, std::memory_order_release);
    }
  }

  // Also true for documents of the list that are beyond the reader's snapshot.
  [[nodiscard]] bool holds(uint32_t offset) const noexcept {
    const uint32_t at = offset / kDocsPerWord;
    if (at >= n_words_) return false;
    const auto* words = reinterpret_cast<const std::atomic<uint64_t>*>(this + 1);
    return (words[at].load(std::memory_order_relaxed) >> (offset % kDocsPerWord) & 1u) != 0;
  }

  [[nodiscard]] uint32_t n_words() const noexcept { return n_words_; }
  // For kernels, which load whole words. Documents beyond the words are not in the list.
  [[nodiscard]] const uint64_t* read() const noexcept {
    static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
    return reinterpret_cast<const uint64_t*>(this + 1);
  }

 private:
  explicit RankedBitmap(uint32_t n_words) noexcept : n_words_(n_words) {}
  [[nodiscard]] static constexpr size_t bytes(uint32_t n_words) noexcept {
    return sizeof(RankedBitmap) + size_t{n_words} * sizeof(uint64_t);
  }
  [[nodiscard]] std::atomic<uint64_t>* words() noexcept {
    return reinterpret_cast<std::atomic<uint64_t>*>(this + 1);
  }

  alignas(uint64_t) uint32_t n_words_;
};

}  // namespace scrubjay::lexical
