// Surface cache: which finished tokens does a surface form (the raw bytes of a run) have?
//
// Most runs of a text were seen before; for them this table stands in front of normalisation, folding and stemming.
// Open addressing with linear probing, at most half full; tokens and terms live in blocks that never move, so views
// stay good until `clear`. Bounded in bytes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/draft.hpp"

namespace scrubjay::text {

// Bump allocation in blocks that never move.
class TokenStore {
 public:
  // The draft's items [first, end) as tokens. The span and its terms live until `clear`.
  [[nodiscard]] std::span<const Token> store(const Draft& draft, size_t first = 0);
  [[nodiscard]] std::string_view store(std::string_view bytes);

  // Keeps the first block for the next round.
  void clear() noexcept;
  [[nodiscard]] size_t memory_bytes() const noexcept { return n_bytes_; }

 private:
  [[nodiscard]] std::byte* allocate(size_t n_bytes, size_t alignment);

  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };
  std::vector<Block> blocks_;
  size_t used_ = 0;  // of the last block
  size_t n_bytes_ = 0;
};

class SurfaceCache {
 public:
  static constexpr size_t kMaxSurfaceBytes = 64;

  // max_bytes 0: holds nothing.
  explicit SurfaceCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Tokens of a surface form; null if it is not here.
  [[nodiscard]] const std::span<const Token>* find(std::string_view surface, uint64_t hash) const noexcept {
    if (slots_.empty()) return nullptr;
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.surface.data() == nullptr) return nullptr;
      if (slot.hash == hash && slot.surface == surface) return &slot.tokens;
    }
  }

  // Remembers the tokens and returns them; null if there is no room (then full() holds). Precondition: not in here.
  const std::span<const Token>* insert(std::string_view surface, uint64_t hash, const Draft& draft);

  [[nodiscard]] bool full() const noexcept { return full_; }
  void clear() noexcept;
  [[nodiscard]] size_t memory_bytes() const noexcept { return store_.memory_bytes() + slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    uint64_t hash = 0;
    std::string_view surface;  // null: empty slot
    std::span<const Token> tokens;
  };

  [[nodiscard]] Slot& empty_slot(uint64_t hash) noexcept;
  [[nodiscard]] bool grow();

  size_t max_bytes_;
  size_t n_entries_ = 0;
  size_t mask_ = 0;
  bool full_ = false;
  std::vector<Slot> slots_;
  TokenStore store_;
};

}  // namespace scrubjay::text
