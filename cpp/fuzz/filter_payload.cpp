// Checks that any bytes are read as a payload's attributes without a fault, and that the columns hold what
// was read.
//
// The bytes are split at newlines into payloads; each is a document of one chunk.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "filter/attributes.hpp"
#include "filter/columns.hpp"
#include "filter/predicate.hpp"

namespace {

using namespace scrubjay::filter;

void expect(bool right) {
  if (!right) std::abort();
}

// A bitmap of the documents that pass the test.
std::vector<uint64_t> holders(const Columns& columns, Test test, uint32_t n_docs) {
  Node node;
  node.kind = Node::Kind::test;
  std::vector<Test> tests;
  tests.push_back(std::move(test));
  const Predicate predicate(std::move(tests), std::move(node));
  std::vector<uint64_t> bits((n_docs + 63) / 64);
  Evaluation evaluation;
  evaluation.run(predicate, &columns, n_docs, bits.data());
  return bits;
}

bool has(const std::vector<uint64_t>& bits, uint32_t doc) { return (bits[doc / 64] >> (doc % 64) & 1) != 0; }

// A test that the value of an attribute passes.
Test matching(const Attribute& attribute) {
  Test test;
  test.field = std::string(attribute.field);
  switch (attribute.kind) {
    case Kind::string:
      test.strings.emplace_back(attribute.text);
      break;
    case Kind::boolean:
      (attribute.number != 0 ? test.yes : test.no) = true;
      break;
    case Kind::integer:
      test.integers.push_back({attribute.number, attribute.number});
      break;
    case Kind::real:
      test.reals.push_back({attribute.number, attribute.number});
      expect(sortable_real(unsortable_real(attribute.number)) == attribute.number);
      break;
    case Kind::time:
      test.times.push_back({attribute.number, attribute.number});
      break;
    case Kind::list:
    case Kind::other:
      test.any = true;
      break;
  }
  return test;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kMostDocs = 100;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Columns columns;
  std::deque<Attributes> read;
  size_t begin = 0;
  while (begin <= size && read.size() < kMostDocs) {
    const std::string_view payload = bytes.substr(begin, bytes.find('\n', begin) - begin);
    begin += payload.size() + 1;
    Attributes& attributes = read.emplace_back();
    if (!read_attributes(payload, attributes)) expect(attributes.all.empty());
    columns.append(static_cast<uint32_t>(read.size() - 1), attributes, payload);
  }
  const scrubjay::base::EpochGuard guard;
  const auto n_docs = static_cast<uint32_t>(read.size());
  for (uint32_t doc = 0; doc < n_docs; ++doc) {
    const std::vector<Attribute>& all = read[doc].all;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto again = [&](const Attribute& later) { return later.field == all[i].field; };
      if (std::any_of(all.begin() + static_cast<ptrdiff_t>(i) + 1, all.end(), again))
        continue;  // of equal fields the last one counts
      // Integers and times at the limit of their range are stored as other values.
      if (all[i].number == std::numeric_limits<int64_t>::min()) continue;
      expect(has(holders(columns, matching(all[i]), n_docs), doc));
      for (uint32_t e = 0; all[i].kind == Kind::list && e < all[i].n; ++e) {
        Test test;
        test.field = std::string(all[i].field);
        test.elements = true;
        test.strings.emplace_back(read[doc].elements[all[i].first + e]);
        expect(has(holders(columns, std::move(test), n_docs), doc));
      }
    }
  }
  return 0;
}
