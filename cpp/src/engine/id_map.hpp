// Id map: where is the document with this id?
//
// Open addressing with 24-byte entries; the id itself stays in its chunk, where a match is verified. Guarded
// by a lock that is held for one lookup or one change at a time; searches do not come here unless the caller
// passes ids.
#pragma once

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
  // The caller holds an epoch guard.
  [[nodiscard]] std::optional<Location> find(const Id& id) const noexcept {
    const Entry* entry = find_entry(id);
    return entry ? std::optional(entry->location) : std::nullopt;
  }
  // Inserts or replaces. Throws std::bad_alloc only if reserve() was not called for it.
  void put(const Id& id, Location location) {
    if (Entry* entry = find_entry(id)) {
      entry->location = location;
      return;
    }
    reserve(1);
    place({id.hash(), location});
    ++n_;
  }
  void reserve(size_t n_more) {
    if ((n_ + n_more) * 4 <= entries_.size() * 3) return;
    size_t n_entries = entries_.empty() ? 16 : entries_.size();
    while ((n_ + n_more) * 4 > n_entries * 3) n_entries *= 2;
    std::vector<Entry> old(n_entries);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.location.partition) place(entry);
    }
  }
  // Removes the entry of a document that is (or was) at `location`.
  void erase(uint64_t hash, Location location) noexcept {
    if (entries_.empty()) return;
    const size_t mask = entries_.size() - 1;
    size_t i = hash & mask;
    while (
        !(entries_[i].location.partition == location.partition && entries_[i].location.doc == location.doc)) {
      if (!entries_[i].location.partition) return;
      i = (i + 1) & mask;
    }
    // Backward shift: no tombstones.
    for (size_t j = (i + 1) & mask; entries_[j].location.partition; j = (j + 1) & mask) {
      const size_t home = entries_[j].hash & mask;
      if (((j - home) & mask) >= ((j - i) & mask)) {
        entries_[i] = entries_[j];
        i = j;
      }
    }
    entries_[i] = Entry{};
    --n_;
  }
  // The document with this hash at `from` is now at `to`.
  void move(uint64_t hash, Location from, LocalDoc to) noexcept {
    if (entries_.empty()) return;
    const size_t mask = entries_.size() - 1;
    for (size_t i = hash & mask; entries_[i].location.partition; i = (i + 1) & mask) {
      Entry& entry = entries_[i];
      if (entry.hash != hash || entry.location.partition != from.partition || entry.location.doc != from.doc)
        continue;
      entry.location.doc = to;
      return;
    }
  }
  [[nodiscard]] size_t size() const noexcept { return n_; }
  [[nodiscard]] size_t memory_bytes() const noexcept { return entries_.size() * sizeof(Entry); }

 private:
  struct Entry {
    uint64_t hash = 0;
    Location location;  // partition null: empty
  };

  [[nodiscard]] const Entry* find_entry(const Id& id) const noexcept {
    if (entries_.empty()) return nullptr;
    const uint64_t hash = id.hash();
    const size_t mask = entries_.size() - 1;
    for (size_t i = hash & mask; entries_[i].location.partition; i = (i + 1) & mask) {
      const Entry& entry = entries_[i];
      if (entry.hash != hash) continue;
      const Chunk& chunk = entry.location.partition->chunk_at(serial_of(entry.location.doc));
      if (chunk.id(offset_of(entry.location.doc)) == id) return &entry;
    }
    return nullptr;
  }
  [[nodiscard]] Entry* find_entry(const Id& id) noexcept {
    return const_cast<Entry*>(static_cast<const IdMap*>(this)->find_entry(id));
  }
  void place(const Entry& entry) noexcept {
    const size_t mask = entries_.size() - 1;
    size_t i = entry.hash & mask;
    while (entries_[i].location.partition) i = (i + 1) & mask;
    entries_[i] = entry;
  }

  std::vector<Entry> entries_;
  size_t n_ = 0;
};

}  // namespace scrubjay::engine
