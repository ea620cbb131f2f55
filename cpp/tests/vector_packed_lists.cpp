// Do lists come back from their bits, whatever the width of a slot?
#include "vector/packed_lists.hpp"

#include <random>
#include <vector>

#include "check.hpp"

using scrubjay::vector::PackedLists;

TEST(packed_lists_come_back) {
  std::mt19937_64 random(7);
  for (uint32_t width = 1; width <= 32; ++width) {
    const auto greatest = static_cast<uint32_t>((uint64_t{1} << width) - 1);
    // As many slots as fit the width, and the fewest that need it (two bits are the fewest that one slot more
    // than two needs).
    for (const uint64_t n_slots : {uint64_t{greatest} + 1, uint64_t{greatest} / 2 + 2}) {
      if (n_slots > 0xffffffffu) continue;
      PackedLists lists(static_cast<uint32_t>(n_slots));
      std::vector<std::vector<uint32_t>> given;
      size_t n_bytes = 0;
      for (const size_t size :
           {size_t{0}, size_t{1}, size_t{7}, size_t{40}, PackedLists::kLongest, size_t{3}}) {
        std::vector<uint32_t>& list = given.emplace_back(size);
        for (uint32_t& slot : list) slot = static_cast<uint32_t>(random() % n_slots);
        if (size > 1) list.front() = static_cast<uint32_t>(n_slots - 1);
        n_bytes += lists.n_bytes(size);
      }
      lists.reserve(n_bytes);
      std::vector<uint32_t> places;
      for (const std::vector<uint32_t>& list : given) {
        places.push_back(lists.end());
        lists.append(list);
      }
      CHECK_EQ(lists.end(), n_bytes);
      for (size_t i = 0; i < given.size(); ++i) {
        const PackedLists::List list = lists[places[i]];
        CHECK_EQ(list.size(), given[i].size());
        for (size_t j = 0; j < list.size(); ++j) CHECK_EQ(list[j], given[i][j]);
      }
    }
  }
}

TEST(packed_lists_take_no_more_bits_than_slots_need) {
  CHECK_EQ(PackedLists(100'000).n_bytes(16), 1 + 16 * 17 / 8);
  CHECK_EQ(PackedLists(2).n_bytes(16), 1 + 2);
  CHECK_EQ(PackedLists(1).n_bytes(0), 1);
  PackedLists lists(1000);
  lists.reserve(100);
  CHECK(lists.memory_bytes() <= 120);
}

TEST(packed_lists_beyond_what_a_place_can_say_are_refused) {
  PackedLists lists(1000);
  bool refused = false;
  try {
    lists.reserve(size_t{1} << 32);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  CHECK(refused);
}
