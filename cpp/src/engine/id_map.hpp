// Id map: where is the document with this id?
//
// Open addressing with 16-byte entries; the id itself stays in its chunk, where a match is verified. Guarded
// by a lock that is held for one lookup or one change at a time; searches do not come here unless the caller
// passes ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/partition.hpp"

namespace scrubjay::engine {

struct Location {
  Partition* partition = nullptr;
  LocalDoc doc = 0;
};

class IdMap {
 public:
  // Whether an entry has room for the address.
  [[nodiscard]] static bool holds(const Partition* partition) noexcept {
    return reinterpret_cast<uintptr_t>(partition) >> 52 == 0;
  }

  // An entry and its share of the free ones: the map is between eight fifteenths and four fifths full.
  static constexpr size_t kUsualBytes = 24;

  // The caller holds an epoch guard.
  [[nodiscard]] std::optional<Location> find(const Id& id) const noexcept {
    const Entry* entry = find_entry(id);
    return entry ? std::optional(entry->location()) : std::nullopt;
  }
  // Inserts or replaces. Throws std::bad_alloc only if reserve() was not called for it.
  void put(const Id& id, Location location) {
    const auto hash = static_cast<uint32_t>(id.hash());
    if (Entry* entry = find_entry(id)) {
      *entry = Entry(hash, location);
      return;
    }
    reserve(1);
    place(Entry(hash, location));
    ++n_;
  }
  void reserve(size_t n_more) {
    const auto holds = [&](size_t n_entries) { return (n_ + n_more) * 5 <= n_entries * 4; };
    if (holds(entries_.size())) return;
    size_t n_entries = std::max<size_t>(entries_.size(), 16);
    while (!holds(n_entries)) n_entries += n_entries / 2;
    std::vector<Entry> old(n_entries);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (!entry.empty()) place(entry);
    }
  }
  // Removes the entry of a document that is (or was) at `location`.
  void erase(uint64_t hash, Location location) noexcept {
    if (entries_.empty()) return;
    const Entry erased(static_cast<uint32_t>(hash), location);
    size_t i = home(erased.hash());
    for (; !(entries_[i] == erased); i = next(i)) {
      if (entries_[i].empty()) return;
    }
    // Backward shift: no tombstones.
    for (size_t j = next(i); !entries_[j].empty(); j = next(j)) {
      const size_t at = home(entries_[j].hash());
      if (distance(at, j) >= distance(i, j)) {
        entries_[i] = entries_[j];
        i = j;
      }
    }
    entries_[i] = Entry();
    --n_;
  }
  // The document with this hash at `from` is now at `to`.
  void move(uint64_t hash, Location from, LocalDoc to) noexcept {
    if (entries_.empty()) return;
    const Entry moved(static_cast<uint32_t>(hash), from);
    for (size_t i = home(moved.hash()); !entries_[i].empty(); i = next(i)) {
      if (!(entries_[i] == moved)) continue;
      entries_[i] = Entry(moved.hash(), {from.partition, to});
      return;
    }
  }
  [[nodiscard]] size_t size() const noexcept { return n_; }
  [[nodiscard]] size_t memory_bytes() const noexcept { return entries_.size() * sizeof(Entry); }

 private:
  // The partition's address, which is a multiple of 16 and ends with bit 51, the document's number of 48
  // bits, and half of the hash beside each.
  class Entry {
   public:
    Entry() = default;
    Entry(uint32_t hash, Location location) noexcept
        : partition_(reinterpret_cast<uintptr_t>(location.partition) << 12 | (hash & 0xffffu)),
          doc_(location.doc << 16 | hash >> 16) {
      static_assert(sizeof(uintptr_t) == sizeof(uint64_t) && __STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
    }
    [[nodiscard]] bool empty() const noexcept { return partition_ == 0; }
    [[nodiscard]] bool operator==(const Entry&) const noexcept = default;
    [[nodiscard]] uint32_t hash() const noexcept {
      return static_cast<uint32_t>(partition_ & 0xffffu) | static_cast<uint32_t>(doc_ & 0xffffu) << 16;
    }
    [[nodiscard]] Location location() const noexcept {
      return {reinterpret_cast<Partition*>(partition_ >> 16 << 4), doc_ >> 16};
    }

   private:
    uint64_t partition_ = 0;  // zero: empty
    uint64_t doc_ = 0;
  };

  [[nodiscard]] size_t home(uint32_t hash) const noexcept {
    return static_cast<size_t>(hash * uint64_t{entries_.size()} >> 32);
  }
  [[nodiscard]] size_t next(size_t i) const noexcept { return i + 1 == entries_.size() ? 0 : i + 1; }
  [[nodiscard]] size_t distance(size_t from, size_t to) const noexcept {
    return to >= from ? to - from : to + entries_.size() - from;
  }

  [[nodiscard]] const Entry* find_entry(const Id& id) const noexcept {
    if (entries_.empty()) return nullptr;
    const auto hash = static_cast<uint32_t>(id.hash());
    for (size_t i = home(hash); !entries_[i].empty(); i = next(i)) {
      const Entry& entry = entries_[i];
      if (entry.hash() != hash) continue;
      const Location location = entry.location();
      const Chunk& chunk = location.partition->chunk_at(serial_of(location.doc));
      if (chunk.id(offset_of(location.doc)) == id) return &entry;
    }
    return nullptr;
  }
  [[nodiscard]] Entry* find_entry(const Id& id) noexcept {
    return const_cast<Entry*>(static_cast<const IdMap*>(this)->find_entry(id));
  }
  void place(const Entry& entry) noexcept {
    size_t i = home(entry.hash());
    while (!entries_[i].empty()) i = next(i);
    entries_[i] = entry;
  }

  std::vector<Entry> entries_;
  size_t n_ = 0;
};

}  // namespace scrubjay::engine
