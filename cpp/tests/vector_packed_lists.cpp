// Lists are restored from their bits, whatever they contain, and take as few bits as necessary.
#include "vector/packed_lists.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"

using scrubjay::vector::PackedLists;

namespace {

using Lists = std::vector<std::vector<uint32_t>>;  // of node 0, 1, ..., ascending

PackedLists packed(const Lists& lists, std::vector<uint32_t>& places) {
  PackedLists::Counts counts;
  for (uint32_t own = 0; own < lists.size(); ++own) counts.add(own, lists[own]);
  PackedLists out(counts);
  const size_t n_reserved = out.memory_bytes();
  places.clear();
  for (uint32_t own = 0; own < lists.size(); ++own) {
    places.push_back(out.end());
    out.append(own, lists[own]);
  }
  CHECK_EQ(out.memory_bytes(), n_reserved);  // there was room
  places.push_back(out.end());
  out.close();
  CHECK(out.memory_bytes() <= n_reserved);
  return out;
}

void check_come_back(const Lists& lists) {
  std::vector<uint32_t> places;
  const PackedLists kept = packed(lists, places);
  for (uint32_t own = 0; own < lists.size(); ++own) {
    std::vector<uint32_t> found;
    kept.for_each(places[own], own, [&](uint32_t slot) { found.push_back(slot); });
    CHECK_EQ(found, lists[own]);
    CHECK_EQ(kept.next(places[own]), places[own + 1]);
  }
}

}  // namespace

TEST(packed_lists_round_trip) {
  std::mt19937_64 random(7);
  for (uint32_t width = 0; width <= 32; ++width) {
    const uint64_t n_slots = uint64_t{1} << width;
    Lists lists;
    for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{32}, size_t{33},
                              PackedLists::kLongest, size_t{3}}) {
      std::vector<uint32_t>& list = lists.emplace_back(size);
      for (uint32_t& slot : list) slot = static_cast<uint32_t>(random() % n_slots);
      if (size > 1) {
        list.front() = 0;
        list.back() = static_cast<uint32_t>(n_slots - 1);
      }
      std::sort(list.begin(), list.end());
    }
    check_come_back(lists);
  }
}

TEST(empty_packed_lists_round_trip) {
  check_come_back({});
  check_come_back({{}, {}, {}});
  check_come_back({{0}, {1}, {2}});  // differences of zero bits
}

TEST(packed_lists_take_the_best_widths) {
  // Sixteen slots after each node, adjacent except one that is far away: 2 bits for the class, 1 for the
  // difference to the next.
  constexpr uint32_t kNodes = 1000, kFar = 1u << 20;
  Lists lists(kNodes);
  for (uint32_t own = 0; own < kNodes; ++own) {
    for (uint32_t i = 0; i < 15; ++i) lists[own].push_back(own + i);
    lists[own].push_back(own + kFar);
  }
  std::vector<uint32_t> places;
  const PackedLists kept = packed(lists, places);
  const size_t n_bits = 16 * 2 + 0 + 14 * 1 + 20;
  CHECK_EQ(places.back(), kNodes * (1 + (n_bits + 7) / 8));
  CHECK(kept.memory_bytes() <= places.back() + 64);
}

TEST(packed_lists_too_large_for_their_offsets_are_refused) {
  PackedLists::Counts counts;
  std::vector<uint32_t> list(PackedLists::kLongest);
  for (uint32_t i = 0; i < list.size(); ++i) list[i] = i << 24;
  for (int i = 0; i < 5'000'000; ++i) counts.add(0, list);
  bool refused = false;
  try {
    const PackedLists lists(counts);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  CHECK(refused);
}
