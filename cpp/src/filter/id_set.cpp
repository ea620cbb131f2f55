#include "filter/id_set.hpp"

#include <roaring.h>

#include <new>

#include "base/errors.hpp"

namespace scrubjay::filter {

// Negative ids are stored as the unsigned numbers with the same bits.
struct IdSet::Roaring {
  explicit Roaring(roaring64_bitmap_t* taken) : bitmap(taken) {
    if (!bitmap) throw std::bad_alloc();
  }
  ~Roaring() { roaring64_bitmap_free(bitmap); }
  Roaring(const Roaring&) = delete;
  Roaring& operator=(const Roaring&) = delete;
  roaring64_bitmap_t* bitmap;
};

IdSet::IdSet() = default;
IdSet::IdSet(IdSet&&) noexcept = default;
IdSet& IdSet::operator=(IdSet&&) noexcept = default;
IdSet::~IdSet() = default;

IdSet IdSet::of_integers(std::span<const int64_t> ids) {
  IdSet set;
  set.integers_ = std::make_unique<Roaring>(roaring64_bitmap_create());
  static_assert(sizeof(int64_t) == sizeof(uint64_t));
  roaring64_bitmap_add_many(set.integers_->bitmap, ids.size(), reinterpret_cast<const uint64_t*>(ids.data()));
  return set;
}

IdSet IdSet::of_strings(std::span<const std::string_view> ids) {
  IdSet set;
  set.strings_.reserve(ids.size());
  for (const std::string_view id : ids) set.strings_.emplace(id);
  return set;
}

IdSet IdSet::of_roaring(std::string_view bytes, bool wide) {
  const auto refuse = [] {
    throw base::InvalidArgument("expected a serialised Roaring bitmap, got other bytes");
  };
  IdSet set;
  const char* reason = nullptr;
  if (wide) {
    roaring64_bitmap_t* read = roaring64_bitmap_portable_deserialize_safe(bytes.data(), bytes.size());
    if (!read) refuse();
    set.integers_ = std::make_unique<Roaring>(read);
    if (!roaring64_bitmap_internal_validate(read, &reason)) refuse();
    return set;
  }
  roaring_bitmap_t* read = roaring_bitmap_portable_deserialize_safe(bytes.data(), bytes.size());
  if (!read) refuse();
  const bool valid = roaring_bitmap_internal_validate(read, &reason);
  if (valid) {
    roaring64_bitmap_t* moved = roaring64_bitmap_move_from_roaring32(read);
    roaring_bitmap_free(read);
    set.integers_ = std::make_unique<Roaring>(moved);
    return set;
  }
  roaring_bitmap_free(read);
  refuse();
  return set;
}

uint64_t IdSet::size() const noexcept {
  return integers_ ? roaring64_bitmap_get_cardinality(integers_->bitmap) : strings_.size();
}

bool IdSet::contains(int64_t id) const noexcept {
  return integers_ && roaring64_bitmap_contains(integers_->bitmap, static_cast<uint64_t>(id));
}

std::vector<int64_t> IdSet::integers() const {
  std::vector<int64_t> ids(integers_ ? static_cast<size_t>(size()) : 0);
  if (!ids.empty())
    roaring64_bitmap_to_uint64_array(integers_->bitmap, reinterpret_cast<uint64_t*>(ids.data()));
  return ids;
}

std::vector<std::string_view> IdSet::strings() const { return {strings_.begin(), strings_.end()}; }

}  // namespace scrubjay::filter
