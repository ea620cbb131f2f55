// Track: a column of optional values of one type, one for each document of a chunk, dense or sparse.
//
// Dense (a value for each document up to the last one that has a value, `kAbsent` for documents without one)
// while at least a quarter of the documents have a value, otherwise sparse (pairs of document and value), so
// that a field of few documents takes little memory. One writer, any number of readers under an epoch guard;
// a change of form builds the new one beside the old one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

#include "base/growing.hpp"
#include "filter/digests.hpp"

namespace scrubjay::filter {

// Codes need no digests: they are as small.
struct NoDigests {
  void reserve(uint32_t) noexcept {}
  void follow(const void*, uint32_t) noexcept {}
  void forget_from(uint32_t) noexcept {}
  [[nodiscard]] size_t memory_bytes() const noexcept { return 0; }
};
template <class T>
using DigestsOf = std::conditional_t<std::is_same_v<T, int64_t>, Digests, NoDigests>;

template <class T>
class Track {
 public:
  // A value that is never stored.
  static constexpr T kAbsent = std::numeric_limits<T>::is_signed ? std::numeric_limits<T>::min() : T{0};

  Track() = default;
  Track(const Track&) = delete;
  Track& operator=(const Track&) = delete;
  ~Track() { delete form_.load(std::memory_order_relaxed); }

  // The view of a reader whose snapshot has n_docs documents. Dense: values[doc]; sparse:
  // values[i] of docs[i].
  struct View {
    bool dense = true;
    std::span<const T> values;
    const uint16_t* docs = nullptr;
    const DigestsOf<T>* digests = nullptr;  // of a dense column of numbers

    // kAbsent if the document has no value.
    [[nodiscard]] T at(uint32_t doc) const noexcept {
      if (dense) return doc < values.size() ? values[doc] : kAbsent;
      const uint16_t* found = std::lower_bound(docs, docs + values.size(), doc);
      return found != docs + values.size() && *found == doc ? values[static_cast<size_t>(found - docs)]
                                                            : kAbsent;
    }
  };
  [[nodiscard]] View view(uint32_t n_docs) const noexcept {
    const Form* form = form_.load(std::memory_order_acquire);
    if (!form) return {};
    uint32_t n = form->size.load(std::memory_order_acquire);
    const T* values = form->values.read();
    if (form->dense) return {true, {values, std::min(n, n_docs)}, nullptr, &form->digests};
    const uint16_t* docs = form->docs.read();
    if (n != 0 && docs[n - 1] >= n_docs)
      n = static_cast<uint32_t>(std::lower_bound(docs, docs + n, n_docs) - docs);
    return {false, {values, n}, docs, nullptr};
  }

  // --- for the writer: documents ascend ----------------------------------------------------------
  // Reserves room for a value of document `doc`, without an effect on readers.
  void reserve(uint32_t doc) {
    Form* form = form_.load(std::memory_order_relaxed);
    const uint32_t n_present = (form ? form->n_present : 0) + 1;
    const bool stays_dense = form && form->dense && n_present * 16 >= doc + 1;
    const bool dense = n_present * 4 >= doc + 1 || stays_dense;
    if (!form || form->dense != dense) form = rebuild(dense, doc);
    const uint32_t size = form->size.load(std::memory_order_relaxed);
    if (dense) {
      form->values.reserve(doc + 1, size);
      form->digests.reserve(doc + 1);
    } else {
      form->values.reserve(size + 1, size);
      form->docs.reserve(size + 1, size);
    }
  }
  // Call after reserve(doc).
  void put(uint32_t doc, T value) noexcept {
    Form* form = form_.load(std::memory_order_relaxed);
    uint32_t size = form->size.load(std::memory_order_relaxed);
    if (form->dense) {
      for (; size < doc; ++size) form->values.data()[size] = kAbsent;
    } else {
      form->docs.data()[size] = static_cast<uint16_t>(doc);
    }
    form->values.data()[size] = value;
    ++form->n_present;
    if (form->dense) form->digests.follow(form->values.data(), size + 1);
    form->size.store(size + 1, std::memory_order_release);
  }
  // Rolls back the documents from `doc` on, which are in no reader's snapshot.
  void forget_from(uint32_t doc) noexcept {
    Form* form = form_.load(std::memory_order_relaxed);
    if (!form) return;
    uint32_t size = form->size.load(std::memory_order_relaxed);
    const auto is_later = [&](uint32_t i) { return (form->dense ? i : form->docs.data()[i]) >= doc; };
    for (; size != 0 && is_later(size - 1); --size)
      form->n_present -= form->values.data()[size - 1] == kAbsent && form->dense ? 0 : 1;
    if (form->dense) form->digests.forget_from(size);
    form->size.store(size, std::memory_order_release);
  }
  [[nodiscard]] size_t memory_bytes() const noexcept {
    const Form* form = form_.load(std::memory_order_relaxed);
    return form ? sizeof(Form) + form->values.memory_bytes() + form->docs.memory_bytes() +
                      form->digests.memory_bytes()
                : 0;
  }

 private:
  struct Form {
    explicit Form(bool is_dense) noexcept : dense(is_dense) {}
    const bool dense;
    uint32_t n_present = 0;  // for the writer
    std::atomic<uint32_t> size{0};
    base::GrowingArray<T> values;
    base::GrowingArray<uint16_t> docs;
    [[no_unique_address]] DigestsOf<T> digests;
  };

  [[nodiscard]] Form* rebuild(bool dense, uint32_t n_docs) {
    auto rebuilt = std::make_unique<Form>(dense);
    std::unique_ptr<Form> old;
    if (const Form* form = form_.load(std::memory_order_relaxed)) {
      const View all = view(n_docs);
      rebuilt->n_present = form->n_present;
      uint32_t size = 0;
      if (dense) {
        size = all.values.empty() ? 0 : all.docs[all.values.size() - 1] + 1u;
        rebuilt->values.reserve(size, 0);
        std::fill_n(rebuilt->values.data(), size, kAbsent);
        for (size_t i = 0; i < all.values.size(); ++i) rebuilt->values.data()[all.docs[i]] = all.values[i];
        rebuilt->digests.reserve(size);
        rebuilt->digests.follow(rebuilt->values.data(), size);
      } else {
        rebuilt->values.reserve(form->n_present, 0);
        rebuilt->docs.reserve(form->n_present, 0);
        for (size_t doc = 0; doc < all.values.size(); ++doc) {
          if (all.values[doc] == kAbsent) continue;
          rebuilt->docs.data()[size] = static_cast<uint16_t>(doc);
          rebuilt->values.data()[size++] = all.values[doc];
        }
      }
      rebuilt->size.store(size, std::memory_order_relaxed);
    }
    old.reset(form_.exchange(rebuilt.release(), std::memory_order_acq_rel));
    base::retire(std::move(old));
    return form_.load(std::memory_order_relaxed);
  }

  std::atomic<Form*> form_{nullptr};
};

// A list of rows that may repeat a document, ascending by document.
template <class T>
class RowList {
 public:
  struct View {
    std::span<const T> rows;
    const uint16_t* docs = nullptr;
  };
  [[nodiscard]] View view(uint32_t n_docs) const noexcept {
    uint32_t n = size_.load(std::memory_order_acquire);
    const uint16_t* docs = docs_.read();
    if (n != 0 && docs[n - 1] >= n_docs)
      n = static_cast<uint32_t>(std::lower_bound(docs, docs + n, n_docs) - docs);
    return {{rows_.read(), n}, docs};
  }
  void reserve(size_t n_more) {
    const uint32_t size = size_.load(std::memory_order_relaxed);
    rows_.reserve(size + n_more, size);
    docs_.reserve(size + n_more, size);
  }
  void put(uint32_t doc, const T& row) noexcept {
    const uint32_t size = size_.load(std::memory_order_relaxed);
    rows_.data()[size] = row;
    docs_.data()[size] = static_cast<uint16_t>(doc);
    size_.store(size + 1, std::memory_order_release);
  }
  void forget_from(uint32_t doc) noexcept {
    uint32_t size = size_.load(std::memory_order_relaxed);
    while (size != 0 && docs_.data()[size - 1] >= doc) --size;
    size_.store(size, std::memory_order_release);
  }
  [[nodiscard]] size_t memory_bytes() const noexcept { return rows_.memory_bytes() + docs_.memory_bytes(); }

 private:
  std::atomic<uint32_t> size_{0};
  base::GrowingArray<T> rows_;
  base::GrowingArray<uint16_t> docs_;
};

}  // namespace scrubjay::filter
