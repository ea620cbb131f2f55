#include "text/surface_cache.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/interruption.hpp"

namespace scrubjay::text {
namespace {

constexpr size_t kFirstSlots = 64;

}  // namespace

std::byte* TokenStore::allocate(size_t n_bytes, size_t alignment) {
  const size_t at = (used_ + alignment - 1) / alignment * alignment;
  if (!blocks_.empty() && at + n_bytes <= blocks_.back().size) {
    used_ = at + n_bytes;
    return blocks_.back().bytes.get() + at;
  }
  const size_t size = std::max(kBlockBytes, n_bytes);
  blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
  n_bytes_ += size;
  used_ = n_bytes;
  return blocks_.back().bytes.get();
}

std::string_view TokenStore::store(std::string_view bytes) {
  auto* copy = reinterpret_cast<char*>(allocate(std::max<size_t>(bytes.size(), 1), 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  return {copy, bytes.size()};
}

std::span<const Token> TokenStore::store(const Draft& draft) {
  const std::string_view bytes = store(draft.bytes());
  auto* tokens = reinterpret_cast<Token*>(allocate(draft.items().size() * sizeof(Token), alignof(Token)));
  size_t n = 0;
  for (const Draft::Item& item : draft.items()) {
    if (n % Draft::kItemsALook == Draft::kItemsALook - 1) base::interruption_point();
    const std::string_view term = bytes.substr(item.offset, item.length);
    new (tokens + n++) Token{term, term_key(term), item.kind};
  }
  return {tokens, n};
}

std::span<const Token> TokenStore::store(std::span<const Token> tokens) {
  auto* copies = reinterpret_cast<Token*>(allocate(tokens.size() * sizeof(Token), alignof(Token)));
  for (size_t i = 0; i < tokens.size(); ++i) {
    new (copies + i) Token{store(tokens[i].term), tokens[i].key, tokens[i].kind};
  }
  return {copies, tokens.size()};
}

void TokenStore::clear() noexcept {
  if (blocks_.size() > 1) blocks_.resize(1);
  n_bytes_ = blocks_.empty() ? 0 : blocks_[0].size;
  used_ = 0;
}

size_t SurfaceTable::n_bytes(const Draft& draft) noexcept {
  return draft.bytes().size() + draft.items().size() * sizeof(Token);
}

size_t SurfaceTable::n_bytes(std::span<const Token> tokens) noexcept {
  size_t n = tokens.size_bytes();
  for (const Token& token : tokens) n += token.term.size();
  return n;
}

bool SurfaceTable::make_room(size_t n_bytes) {
  const bool grows = 2 * (n_entries_ + 1) > slots_.size();
  const size_t n_slots = grows ? std::max(kFirstSlots, 2 * slots_.size()) : slots_.size();
  full_ = full_ ||
          store_.memory_bytes() + TokenStore::max_growth_bytes(n_bytes) + n_slots * sizeof(Slot) > max_bytes_;
  if (full_) return false;
  if (grows) {
    std::vector<Slot> old(n_slots);
    old.swap(slots_);
    mask_ = n_slots - 1;
    n_entries_ = 0;
    for (const Slot& slot : old) {
      Slot* to = slot.surface != nullptr ? free_slot(slot.tag) : nullptr;
      if (!to) continue;
      *to = slot;
      ++n_entries_;
    }
  }
  return true;
}

SurfaceTable::Slot* SurfaceTable::free_slot(uint32_t tag) noexcept {
  size_t i = tag & mask_;
  for (uint32_t left = kMostProbes; left != 0; --left, i = (i + 1) & mask_)
    if (slots_[i].surface == nullptr) return &slots_[i];
  return nullptr;
}

void SurfaceTable::clear() noexcept {
  std::fill(slots_.begin(), slots_.end(), Slot{});
  store_.clear();
  n_entries_ = 0;
  full_ = false;
}

}  // namespace scrubjay::text
