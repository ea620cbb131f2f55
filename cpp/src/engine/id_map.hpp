// Id map: maps (partition, id), the key of a document, to its location.
//
// Open addressing (probe limit: base/probing.hpp) with 16-byte entries; the id itself stays in its chunk,
// where a match is verified. An id in another partition is another key. Every `hash` here is the key_hash()
// (scope.hpp) of the key. Guarded by a lock that is held for one lookup or one change at a time; searches use
// it only if the caller passes ids.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/probing.hpp"
#include "engine/partition.hpp"

namespace scrubjay::engine {

struct Location {
  Partition* partition = nullptr;
  LocalDoc doc = 0;
};

class IdMap {
 public:
  explicit IdMap(base::Probing probing = base::Probing::fresh()) noexcept : probing_(probing) {}

  // Whether the address fits into an entry.
  [[nodiscard]] static bool holds(const Partition* partition) noexcept {
    return reinterpret_cast<uintptr_t>(partition) >> 52 == 0;
  }

  // Bytes per entry with its share of free entries: the map is between eight fifteenths and four fifths full.
  static constexpr size_t kUsualBytes = 24;
  static constexpr size_t kLeastBytes = 256;  // of a map that is not empty

  // The caller holds an epoch guard.
  [[nodiscard]] std::optional<Location> find(const Partition& partition, const Id& id,
                                             uint64_t hash) const noexcept {
    const Entry* entry = find_entry(partition, id, hash);
    return entry ? std::optional(entry->location()) : std::nullopt;
  }
  // Returns false if the key exists. Throws std::bad_alloc only if reserve() was not called for it.
  [[nodiscard]] bool add(const Id& id, uint64_t hash, Location location) {
    if (find_entry(*location.partition, id, hash)) return false;
    if (!has_room(1)) reserve(1);
    while (!place(Entry(static_cast<uint32_t>(hash), location))) {
      probing_ = probing_.farther();
      strained_ = true;
    }
    ++n_;
    return true;
  }
  // Sets the location of an existing key.
  void replace(const Id& id, uint64_t hash, Location location) noexcept {
    Entry* entry = find_entry(*location.partition, id, hash);
    assert(entry);
    *entry = Entry(static_cast<uint32_t>(hash), location);
  }
  void reserve(size_t n_more) {
    if (has_room(n_more) && !strained_) return;
    size_t n_entries = std::max(entries_.size(), kLeastBytes / sizeof(Entry));
    while (!holds(n_more, n_entries)) n_entries += n_entries / 2;
    rebuild(n_entries, strained_ ? base::Probing::fresh() : probing_);
  }
  // Removes the entry of the document that is, or was, at `location`.
  void erase(uint64_t hash, Location location) noexcept {
    if (entries_.empty()) return;
    const Entry erased(static_cast<uint32_t>(hash), location);
    size_t i = home(erased.hash());
    for (uint32_t left = probing_.most(); !(entries_[i] == erased); i = next(i)) {
      if (entries_[i].empty() || --left == 0) return;
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
  // The document at `from` is now at `to`.
  void move(uint64_t hash, Location from, LocalDoc to) noexcept {
    if (entries_.empty()) return;
    const Entry moved(static_cast<uint32_t>(hash), from);
    size_t i = home(moved.hash());
    for (uint32_t left = probing_.most(); left != 0 && !entries_[i].empty(); --left, i = next(i)) {
      if (!(entries_[i] == moved)) continue;
      entries_[i] = Entry(moved.hash(), {from.partition, to});
      return;
    }
  }
  [[nodiscard]] size_t size() const noexcept { return n_; }

 private:
  // The partition's address (a multiple of 16, below 2^52) and the 48-bit number of the document, each packed
  // with half of the hash.
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

  [[nodiscard]] bool holds(size_t n_more, size_t n_entries) const noexcept {
    return (n_ + n_more) * 5 <= n_entries * 4;
  }
  [[nodiscard]] bool has_room(size_t n_more) const noexcept { return holds(n_more, entries_.size()); }
  [[nodiscard]] size_t home(uint32_t hash) const noexcept {
    return static_cast<size_t>(probing_.home(hash) * uint64_t{entries_.size()} >> 32);
  }
  [[nodiscard]] size_t next(size_t i) const noexcept { return i + 1 == entries_.size() ? 0 : i + 1; }
  [[nodiscard]] size_t distance(size_t from, size_t to) const noexcept {
    return to >= from ? to - from : to + entries_.size() - from;
  }

  [[nodiscard]] const Entry* find_entry(const Partition& partition, const Id& id,
                                        uint64_t long_hash) const noexcept {
    if (entries_.empty()) return nullptr;
    const auto hash = static_cast<uint32_t>(long_hash);
    size_t i = home(hash);
    for (uint32_t left = probing_.most(); left != 0 && !entries_[i].empty(); --left, i = next(i)) {
      const Entry& entry = entries_[i];
      if (entry.hash() != hash) continue;
      const Location location = entry.location();
      if (location.partition != &partition) continue;
      const Chunk& chunk = partition.chunk_at(serial_of(location.doc));
      if (chunk.id(offset_of(location.doc)) == id) return &entry;
    }
    return nullptr;
  }
  [[nodiscard]] Entry* find_entry(const Partition& partition, const Id& id, uint64_t hash) noexcept {
    return const_cast<Entry*>(static_cast<const IdMap*>(this)->find_entry(partition, id, hash));
  }
  // Returns false if no entry is free within the probe limit.
  [[nodiscard]] bool place(const Entry& entry) noexcept {
    size_t i = home(entry.hash());
    for (uint32_t left = probing_.most(); left != 0; --left, i = next(i)) {
      if (!entries_[i].empty()) continue;
      entries_[i] = entry;
      return true;
    }
    return false;
  }
  void rebuild(size_t n_entries, base::Probing probing) {
    std::vector<Entry> old(n_entries);
    old.swap(entries_);
    std::swap(probing, probing_);
    const auto place_all = [&] {
      return std::all_of(old.begin(), old.end(),
                         [&](const Entry& entry) { return entry.empty() || place(entry); });
    };
    while (!place_all()) {
      std::fill(entries_.begin(), entries_.end(), Entry());
      probing_ = probing_.harder();
    }
    strained_ = false;
  }

  std::vector<Entry> entries_;
  base::Probing probing_;
  bool strained_ = false;  // an entry is beyond the table's probe limit: reserve() rebuilds it
  size_t n_ = 0;
};

}  // namespace scrubjay::engine
