// Checks that any bytes are rejected as a Roaring bitmap, or give a set that agrees with itself and with the
// set of its members.
//
// The last byte selects the width; an input that is not a bitmap is read as integers, whose set is checked in
// the same way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "filter/id_set.hpp"

namespace {

using scrubjay::filter::IdSet;

void expect(bool right) {
  if (!right) std::abort();
}

void agree(const IdSet& set) {
  if (set.size() > 1'000'000) return;  // a few bytes may represent all 64-bit numbers
  const std::vector<int64_t> members = set.integers();
  expect(members.size() == set.size());
  const std::set<int64_t> distinct(members.begin(), members.end());
  expect(distinct.size() == members.size());
  for (const int64_t member : members) expect(set.contains(member));
  for (const int64_t other : {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN})
    expect(set.contains(other) == distinct.contains(other));
  if (!members.empty() && members.back() != INT64_MAX)
    expect(set.contains(members.back() + 1) == distinct.contains(members.back() + 1));
  const IdSet again = IdSet::of_integers(members);
  expect(again.size() == set.size());
  std::vector<int64_t> sorted = members, others = again.integers();
  std::sort(sorted.begin(), sorted.end());
  std::sort(others.begin(), others.end());
  expect(sorted == others);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size - 1);
  try {
    agree(IdSet::of_roaring(bytes, data[size - 1] % 2 != 0));
  } catch (const scrubjay::base::InvalidArgument&) {
    std::vector<int64_t> integers(bytes.size() / sizeof(int64_t));
    if (!integers.empty()) std::memcpy(integers.data(), bytes.data(), integers.size() * sizeof(int64_t));
    const IdSet set = IdSet::of_integers(integers);
    for (const int64_t integer : integers) expect(set.contains(integer));
    agree(set);
  }
  std::vector<std::string_view> strings;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    strings.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  const IdSet named = IdSet::of_strings(strings);
  expect(named.size() == std::set<std::string_view>(strings.begin(), strings.end()).size());
  for (const std::string_view string : strings) expect(named.contains(string));
  return 0;
}
