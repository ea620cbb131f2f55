#include "text/surface_cache.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace scrubjay::text {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 14;
constexpr size_t kFirstSlots = 256;

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

std::span<const Token> TokenStore::store(const Draft& draft, size_t first) {
  const std::vector<Draft::Item>& items = draft.items();
  if (first == items.size()) return {};
  const size_t from = items[first].offset;
  const std::string_view bytes = store(draft.bytes().substr(from));
  const size_t n = items.size() - first;
  auto* tokens = reinterpret_cast<Token*>(allocate(n * sizeof(Token), alignof(Token)));
  for (size_t i = 0; i < n; ++i) {
    const Draft::Item& item = items[first + i];
    const std::string_view term = bytes.substr(item.offset - from, item.length);
    new (tokens + i) Token{term, term_key(term), item.kind};
  }
  return {tokens, n};
}

void TokenStore::clear() noexcept {
  if (blocks_.size() > 1) blocks_.resize(1);
  n_bytes_ = blocks_.empty() ? 0 : blocks_[0].size;
  used_ = 0;
}

const std::span<const Token>* SurfaceCache::insert(std::string_view surface, uint64_t hash, const Draft& draft) {
  // The true cost is known only afterwards (a new block); this bound of it keeps the promise.
  const size_t need = surface.size() + draft.bytes().size() + draft.items().size() * sizeof(Token) + 2 * kBlockBytes;
  if (full_ || memory_bytes() + need > max_bytes_ || (2 * (n_entries_ + 1) > slots_.size() && !grow())) {
    full_ = true;
    return nullptr;
  }
  Slot& slot = empty_slot(hash);
  slot.tokens = store_.store(draft);
  slot.surface = store_.store(surface);
  slot.hash = hash;
  ++n_entries_;
  return &slot.tokens;
}

SurfaceCache::Slot& SurfaceCache::empty_slot(uint64_t hash) noexcept {
  size_t i = hash & mask_;
  while (slots_[i].surface.data() != nullptr) i = (i + 1) & mask_;
  return slots_[i];
}

bool SurfaceCache::grow() {
  const size_t n_slots = std::max(kFirstSlots, 2 * slots_.size());
  if (store_.memory_bytes() + n_slots * sizeof(Slot) > max_bytes_) return false;
  std::vector<Slot> old(n_slots);
  old.swap(slots_);
  mask_ = n_slots - 1;
  for (const Slot& slot : old) {
    if (slot.surface.data() != nullptr) empty_slot(slot.hash) = slot;
  }
  return true;
}

void SurfaceCache::clear() noexcept {
  std::fill(slots_.begin(), slots_.end(), Slot{});
  store_.clear();
  n_entries_ = 0;
  full_ = false;
}

}  // namespace scrubjay::text
