// Growing arrays keep published elements while they grow under their readers.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "base/growing.hpp"
#include "check.hpp"

using namespace scrubjay::base;

namespace {

uint64_t element(size_t i) { return i * 0x9e3779b97f4a7c15u; }

// One writer publishes up to n elements by a counter; three readers check random published positions until it
// has finished.
template <class Write, class Check>
void write_beside_readers(uint32_t n, Write&& write, Check&& check) {
  std::atomic<uint32_t> n_published{0};
  std::vector<std::thread> readers;
  for (unsigned r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      std::mt19937 random(r);
      for (uint32_t seen = 0; seen < n;) {
        const EpochGuard guard;
        seen = n_published.load(std::memory_order_acquire);
        for (int i = 0; seen != 0 && i < 64; ++i) check(random() % seen);
      }
    });
  }
  for (uint32_t i = 0; i < n; ++i) {
    write(i);
    n_published.store(i + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  collect_retired();
}

}  // namespace

TEST(bitmap_sets_tests_and_grows) {
  for (const uint32_t n : {1u, 63u, 64u, 65u, 1000u}) {
    Bitmap bitmap(n);
    std::vector<bool> model(n);
    std::mt19937 random(n);
    for (uint32_t i = 0; i < n / 2 + 1; ++i) {
      const uint32_t bit = random() % n;
      bitmap.set(bit);
      model[bit] = true;
    }
    const Bitmap grown(bitmap, 2 * n + 100), smaller(bitmap, 1);
    for (uint32_t bit = 0; bit < n; ++bit) {
      CHECK_EQ(bitmap.test(bit), bool(model[bit]));
      CHECK_EQ(grown.test(bit), bool(model[bit]));
      CHECK_EQ(smaller.test(bit), bool(model[bit]));  // a copy never shrinks
    }
    for (uint32_t bit = n; bit < 2 * n + 100; ++bit) CHECK(!grown.test(bit));
    for (uint32_t bit = n; bit < n + 200; ++bit) CHECK(!bitmap.test(bit));  // beyond the end: not set
    CHECK_EQ(bitmap.word(bitmap.n_words()), 0);
    CHECK_EQ(bitmap.n_words(), (n + 63) / 64);
  }
}

// A bitmap of no documents has no memory, which must not be accessed.
TEST(bitmap_of_nothing) {
  Bitmap bitmap;
  bitmap.reset(0);
  CHECK_EQ(bitmap.n_words(), 0u);
  CHECK(!bitmap.test(0));
  const Bitmap grown(bitmap, 100);
  CHECK_EQ(grown.n_words(), 2u);
  CHECK(!grown.test(0) && !grown.test(99));
}

TEST(growing_array_keeps_elements_beside_readers) {
  GrowingArray<uint64_t> array;
  const uint32_t n = 50'000;
  write_beside_readers(
      n,
      [&](uint32_t i) {
        array.reserve(i + 1, i);
        array.data()[i] = element(i);
      },
      [&](uint32_t i) { CHECK_EQ(array.read()[i], element(i)); });
  for (uint32_t i = 0; i < n; ++i) CHECK_EQ(array.read()[i], element(i));
  CHECK(array.capacity() >= n && array.capacity() < 2 * n);
  // Of large memory the pages that were written to count, of small memory all.
  CHECK_EQ(array.memory_bytes(), (n * sizeof(uint64_t) + kPageBytes - 1) / kPageBytes * kPageBytes);
  GrowingArray<uint64_t> small;
  small.reserve(5, 0);
  small.reserve(6, 5);
  CHECK_EQ(small.memory_bytes(), held_bytes(small.capacity() * sizeof(uint64_t)));
  CHECK_EQ(reinterpret_cast<uintptr_t>(array.read()) % kCacheLineBytes, 0);
}

TEST(growing_array_starts_empty_and_reserves_what_is_asked) {
  GrowingArray<uint16_t> array;
  CHECK(array.read() == nullptr);
  CHECK_EQ(array.memory_bytes(), 0);
  array.reserve(0, 0);
  CHECK(array.read() == nullptr);
  array.reserve(1000, 0);
  CHECK(array.capacity() >= 1000);
  const uint16_t* before = array.read();
  array.reserve(1000, 0);
  CHECK(array.read() == before);
  collect_retired();
}

TEST(row_blocks_keep_rows_beside_readers) {
  const size_t row_bytes = 48;
  RowBlocks rows(row_bytes);
  const uint32_t n = 5000;  // five blocks
  const auto fill = [](uint32_t doc) { return static_cast<char>(doc * 31 + 7); };
  write_beside_readers(
      n, [&](uint32_t doc) { std::memset(rows.place(doc, doc), fill(doc), row_bytes); },
      [&](uint32_t doc) {
        const char* row = rows.row(doc);
        CHECK(std::count(row, row + row_bytes, fill(doc)) == static_cast<ptrdiff_t>(row_bytes));
      });
  for (uint32_t doc = 0; doc < n; ++doc) {
    CHECK_EQ(rows.row(doc)[0], fill(doc));
    CHECK(rows.row(doc) == rows.block(doc / 1024) + (doc % 1024) * row_bytes);
  }
  const size_t table_bytes = held_bytes(RowBlocks::kMaxBlocks * sizeof(void*));
  CHECK_EQ(rows.memory_bytes(), 5 * held_bytes(1024 * row_bytes) + table_bytes);
  RowBlocks wide(1000);  // only the pages of ten rows of its second block are resident
  static_cast<void>(wide.place(1023, 0));
  static_cast<void>(wide.place(1033, 1024));
  CHECK_EQ(wide.memory_bytes(), held_bytes(1024 * 1000) + 3 * kPageBytes + table_bytes);
}

TEST(row_blocks_place_rows_anywhere_up_to_the_last) {
  RowBlocks rows(16);
  const uint32_t docs[] = {0, 3, 1023, 1024, 40'000, 65'535};
  uint32_t n_used = 0;
  for (const uint32_t doc : docs) {
    std::memset(rows.place(doc, n_used), static_cast<int>(doc % 251), 16);
    n_used = doc + 1;
  }
  for (const uint32_t doc : docs) CHECK_EQ(rows.row(doc)[15], static_cast<char>(doc % 251));
  const size_t table_bytes = held_bytes(RowBlocks::kMaxBlocks * sizeof(void*));
  CHECK_EQ(rows.memory_bytes(),
           4 * held_bytes(1024 * 16) + table_bytes);  // blocks between them were never allocated
  collect_retired();
}

TEST(row_blocks_of_few_rows_stay_small) {
  RowBlocks rows(1024);
  std::memset(rows.place(0, 0), 1, 1024);
  CHECK(rows.memory_bytes() <= 8 * 1024);
}

TEST(byte_arena_never_moves_what_it_gave_out) {
  ByteArena arena;
  std::vector<std::string> kept;
  std::vector<const char*> places;
  std::mt19937 random(5);
  size_t n_bytes = 0;
  for (int i = 0; i < 5000; ++i) {
    const size_t size = i % 500 == 499 ? 100'000 : random() % 200;  // some empty, some larger than a block
    kept.emplace_back(size, static_cast<char>('a' + random() % 26));
    char* place = arena.allocate(size);
    if (size != 0) std::memcpy(place, kept.back().data(), size);
    places.push_back(place);
    n_bytes += size;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i].empty()) CHECK_EQ(std::string_view(places[i], kept[i].size()), kept[i]);
  }
  CHECK(arena.memory_bytes() >= n_bytes);
}
