// Surface cache: from a surface form (the raw bytes of a run) to its tokens.
//
// Most runs of a text have been seen before; for them the cache replaces normalisation, folding and stemming.
// Bounded in bytes, with two generations: when the young one is full it becomes the old one and a new one
// starts; forms found in the old one are copied into the young one. Frequent forms thus stay, at the cost of
// a flag and a copy. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/draft.hpp"

namespace scrubjay::text {

// Bump allocation in blocks that never move.
class TokenStore {
 public:
  // Stores a copy; the span and its terms live until clear().
  [[nodiscard]] std::span<const Token> store(const Draft& draft);
  [[nodiscard]] std::span<const Token> store(std::span<const Token> tokens);
  [[nodiscard]] std::string_view store(std::string_view bytes);

  // Keeps the first block for reuse.
  void clear() noexcept;
  [[nodiscard]] size_t memory_bytes() const noexcept { return n_bytes_; }

  // Upper bound on the growth of memory_bytes() when n_bytes are stored.
  [[nodiscard]] static size_t max_growth_bytes(size_t n_bytes) noexcept { return n_bytes + 2 * kBlockBytes; }

 private:
  static constexpr size_t kBlockBytes = size_t{1} << 12;

  [[nodiscard]] std::byte* allocate(size_t n_bytes, size_t alignment);

  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };
  std::vector<Block> blocks_;
  size_t used_ = 0;  // in the last block
  size_t n_bytes_ = 0;
};

// One generation: open addressing with linear probing, at most half full, with a probe limit; a form without
// a free slot within the limit is not cached. Tokens and terms never move.
class SurfaceTable {
 public:
  static constexpr uint32_t kMostProbes = 64;  // such a long run occurs by chance once in 100,000 forms

  explicit SurfaceTable(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Prefetches for prefetch_tokens(), and that for find() of a form with this hash.
  void prefetch(uint64_t hash) const noexcept {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask_]);
  }
  void prefetch_tokens(uint64_t hash) const noexcept {
    if (slots_.empty()) return;
    const Slot& slot = slots_[hash & mask_];
    __builtin_prefetch(slot.surface);
    __builtin_prefetch(slot.tokens);
  }

  // The tokens live until clear().
  [[nodiscard]] std::optional<std::span<const Token>> find(std::string_view surface,
                                                           uint64_t hash) const noexcept {
    if (slots_.empty()) return std::nullopt;
    const auto tag = static_cast<uint32_t>(hash);
    size_t i = tag & mask_;
    for (uint32_t left = kMostProbes; left != 0; --left, i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.surface == nullptr) break;
      if (slot.tag == tag && std::string_view(slot.surface, slot.n_surface_bytes) == surface) {
        return std::span(slot.tokens, slot.n_tokens);
      }
    }
    return std::nullopt;
  }

  // Stores a copy of the tokens (a Draft, or a span) and returns it; nullopt if there is no room (from then
  // on full() holds) or no free slot within the probe limit. Precondition: not present; at most 255 bytes.
  template <typename Tokens>
  std::optional<std::span<const Token>> insert(std::string_view surface, uint64_t hash,
                                               const Tokens& tokens) {
    if (!make_room(surface.size() + n_bytes(tokens))) return std::nullopt;
    const auto tag = static_cast<uint32_t>(hash);
    Slot* slot = free_slot(tag);
    if (!slot) return std::nullopt;
    const std::span<const Token> stored = store_.store(tokens);
    *slot = {stored.data(), store_.store(surface).data(), tag, static_cast<uint16_t>(stored.size()),
             static_cast<uint8_t>(surface.size())};
    ++n_entries_;
    return stored;
  }

  [[nodiscard]] bool full() const noexcept { return full_; }
  void clear() noexcept;
  [[nodiscard]] size_t memory_bytes() const noexcept {
    return store_.memory_bytes() + slots_.size() * sizeof(Slot);
  }

 private:
  struct Slot {
    const Token* tokens = nullptr;
    const char* surface = nullptr;  // null: an empty slot
    uint32_t tag = 0;               // low half of the hash
    uint16_t n_tokens = 0;
    uint8_t n_surface_bytes = 0;
  };

  [[nodiscard]] static size_t n_bytes(const Draft& draft) noexcept;
  [[nodiscard]] static size_t n_bytes(std::span<const Token> tokens) noexcept;
  [[nodiscard]] bool make_room(size_t n_bytes);
  [[nodiscard]] Slot* free_slot(uint32_t tag) noexcept;  // null: no free slot within the probe limit

  size_t max_bytes_;
  size_t n_entries_ = 0;
  size_t mask_ = 0;
  bool full_ = false;
  std::vector<Slot> slots_;
  TokenStore store_;
};

class SurfaceCache {
 public:
  static constexpr size_t kMaxSurfaceBytes = 64;

  // max_bytes 0: caches nothing.
  explicit SurfaceCache(size_t max_bytes) : young_(max_bytes / 2), old_(max_bytes / 2) {}

  // Ages the cache if it is full. Only this invalidates tokens returned earlier.
  void begin() noexcept {
    if (!young_.full()) return;
    std::swap(young_, old_);
    young_.clear();
  }

  // As of a table; only for forms that were used recently.
  void prefetch(uint64_t hash) const noexcept { young_.prefetch(hash); }
  void prefetch_tokens(uint64_t hash) const noexcept { young_.prefetch_tokens(hash); }

  [[nodiscard]] std::optional<std::span<const Token>> find(std::string_view surface, uint64_t hash) {
    if (const auto found = young_.find(surface, hash)) return found;
    const auto tokens = old_.find(surface, hash);
    if (!tokens) return std::nullopt;
    const auto moved = young_.insert(surface, hash, *tokens);
    return moved ? moved : tokens;
  }

  std::optional<std::span<const Token>> insert(std::string_view surface, uint64_t hash, const Draft& draft) {
    return young_.insert(surface, hash, draft);
  }

  void clear() noexcept {
    young_.clear();
    old_.clear();
  }

  [[nodiscard]] size_t memory_bytes() const noexcept { return young_.memory_bytes() + old_.memory_bytes(); }

 private:
  SurfaceTable young_, old_;
};

}  // namespace scrubjay::text
