// Memory on huge pages keeps its content, even while it is written.
#include "base/huge_pages.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "check.hpp"

using scrubjay::base::HugePages;

TEST(huge_pages_use_none_for_empty_and_small_ranges) {
  CHECK_EQ(HugePages().use(), size_t{0});
  HugePages pages;
  pages.add(nullptr, 0);
  CHECK_EQ(pages.use(), size_t{0});
  const char few[100] = {};
  pages.add(few, sizeof few);  // the rest of that page is not ours
  CHECK_EQ(pages.use(), size_t{0});
}

TEST(huge_pages_keep_what_is_written_meanwhile) {
  std::vector<uint32_t> numbers(16 * HugePages::kBytes / sizeof(uint32_t));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint32_t>(i);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop)
      for (size_t i = 0; i < numbers.size(); i += 1023) numbers[i] = static_cast<uint32_t>(i);
  });
  HugePages pages;
  for (size_t i = 0; i < numbers.size(); i += 1000)
    pages.add(numbers.data() + i, std::min<size_t>(1000, numbers.size() - i) * sizeof(uint32_t));
  const size_t n_huge = pages.use();
  stop = true;
  writer.join();
  CHECK(n_huge <= 17);  // 0 if the system does not support them
  for (size_t i = 0; i < numbers.size(); ++i) CHECK_EQ(numbers[i], static_cast<uint32_t>(i));
}

TEST(huge_pages_ignore_unmapped_addresses) {
  HugePages pages;
  pages.add(reinterpret_cast<const void*>(uintptr_t{1} << 46), 4 * HugePages::kBytes);
  CHECK_EQ(pages.use(), size_t{0});
}
