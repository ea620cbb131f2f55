// The attributes of a document are those of its payload, and a predicate admits what a loop over them would.
#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "filter/attributes.hpp"
#include "filter/columns.hpp"
#include "filter/iso_time.hpp"
#include "filter/predicate.hpp"

using namespace scrubjay::filter;
namespace base = scrubjay::base;

namespace {

std::string payload_of(const std::string& metadata) { return "{\"metadata\":" + metadata + "}"; }

std::vector<bool> admitted(const Predicate& predicate, const Columns* columns, uint32_t n_docs) {
  Evaluation evaluation;
  std::vector<uint64_t> bits((n_docs + 63) / 64 + 1, ~uint64_t{0});
  evaluation.run(predicate, columns, n_docs, bits.data());
  CHECK_EQ(bits.back(), ~uint64_t{0});  // nothing is written past the end
  std::vector<bool> out;
  for (uint32_t doc = 0; doc < n_docs; ++doc) out.push_back(((bits[doc / 64] >> (doc % 64)) & 1) != 0);
  if (n_docs % 64 != 0) CHECK_EQ(bits[n_docs / 64] >> (n_docs % 64), uint64_t{0});
  return out;
}

Predicate one_test(Test test) {
  Node node;
  node.kind = Node::Kind::test;
  std::vector<Test> tests;
  tests.push_back(std::move(test));
  return Predicate(std::move(tests), std::move(node));
}

void append(Columns& columns, uint32_t doc, const std::string& payload) {
  Attributes attributes;
  read_attributes(payload, attributes);
  columns.append(doc, attributes, payload);
}

}  // namespace

TEST(filter_attributes_are_read_from_the_payload) {
  Attributes out;
  CHECK(read_attributes(
      R"({"metadata":{"a":"x","b":-7,"c":0.5,"d":true,"e":null,"f":["p",1,"q",{"r":["s"]}],"g":{"h":[1]},)"
      R"("i":99999999999999999999,"j":"q\"\\\n\u00e9\ud83d\ude42"},"created_at":"2026-03-01T09:30:00+00:00"})",
      out));
  CHECK_EQ(out.all.size(), size_t{9});
  CHECK_EQ(out.all[0].text, std::string_view("x"));
  CHECK_EQ(out.all[1].number, int64_t{-7});
  CHECK(out.all[2].kind == Kind::real && out.all[2].number == sortable_real(0.5));
  CHECK(out.all[3].kind == Kind::boolean && out.all[3].number == 1);
  CHECK(out.all[4].kind == Kind::list && out.all[4].n == 2);
  CHECK_EQ(out.elements[out.all[4].first + 1], std::string_view("q"));
  CHECK(out.all[5].kind == Kind::other);
  CHECK(out.all[6].kind == Kind::other);
  CHECK_EQ(out.all[7].text, std::string_view("q\"\\\n\u00e9\U0001F642"));
  CHECK(out.all[8].kind == Kind::time && out.all[8].field == "created_at");
}

TEST(filter_other_payloads_have_no_attributes) {
  Attributes out;
  for (const char* payload :
       {"", "{", "x", "[]", "{\"metadata\":{\"a\":}}", "{\"metadata\":{\"a\":1}", "{\"metadata\":{\"a\":1}}x",
        "{\"metadata\":{\"a\" 1}}", "{\"metadata\":{\"a\":\"\\q\"}}", "{\"metadata\":{\"a\":1 2}}",
        "{\"metadata\":{\"a\":--1}}", "{\"metadata\":{\"a\":\"", "{\"a\":[[[]}"}) {
    CHECK(!read_attributes(payload, out));
    CHECK(out.all.empty());
  }
  CHECK(read_attributes("{\"other\":[1,{\"metadata\":{\"a\":1}}]}", out));
  CHECK(out.all.empty());
}

TEST(filter_iso_times) {
  const auto at = [](std::string_view text) -> std::optional<int64_t> {
    int64_t microseconds = 0;
    if (!parse_iso_time(text, microseconds)) return std::nullopt;
    return microseconds;
  };
  CHECK(at("1970-01-01") == 0);
  CHECK(at("1970-01-02T00:00:00.5Z") == 86'400'500'000);
  CHECK(at("2000-02-29 23:59+01:00") == at("2000-02-29T22:59:00Z"));
  CHECK(at("0001-01-01") == -62'135'596'800'000'000);
  CHECK(at("9999-12-31T23:59:59.999999") == 253'402'300'799'999'999);
  for (const char* text :
       {"1900-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026-1-1", "2026-01-01T24:00", "2026-01-01T",
        "2026-01-01T10", "2026-01-01T10:00:60", "2026-01-01T10:00:00.", "2026-01-01T10:00Zx",
        "2026-01-01T10:00+1:00", "2026-01-01T10:00+24:00", "0000-01-01"}) {
    CHECK(!at(text));
  }
}

TEST(filter_tracks_change_their_form_and_keep_their_values) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Track<uint16_t> track;
    std::vector<uint16_t> expected;
    uint32_t doc = random() % 2 ? 0 : random() % 50;
    const uint32_t gap = 1 + random() % (round % 3 == 0 ? 2000 : 8);
    while (doc < 3000) {
      const auto value = static_cast<uint16_t>(1 + random() % 5);
      const base::EpochGuard guard;
      track.reserve(doc);
      track.put(doc, value);
      expected.resize(doc + 1, 0);
      expected[doc] = value;
      doc += 1 + random() % gap;
      if (random() % 40 == 0) doc += random() % 1500;
    }
    const base::EpochGuard guard;
    const auto n_docs = static_cast<uint32_t>(random() % 3100);
    std::vector<uint16_t> seen(expected.size(), 0);
    const auto view = track.view(n_docs);
    for (size_t i = 0; i < view.values.size(); ++i) seen[view.dense ? i : view.docs[i]] = view.values[i];
    for (size_t i = 0; i < expected.size(); ++i) CHECK_EQ(seen[i], i < n_docs ? expected[i] : uint16_t{0});
  }
}

// Distinct fields for every document must not cost a full column each.
TEST(filter_rare_fields_cost_little) {
  const base::EpochGuard guard;
  Columns columns;
  std::vector<std::string> payloads;
  for (uint32_t doc = 0; doc < 4000; ++doc)
    payloads.push_back(payload_of("{\"field" + std::to_string(doc) + "\":" + std::to_string(doc) + "}"));
  for (uint32_t doc = 0; doc < 4000; ++doc) append(columns, doc, payloads[doc]);
  base::collect_retired();
  CHECK(columns.memory_bytes() < 4000 * 700);
  Test test;
  test.field = "field3999";
  add_numbers(Comparison::equal, int64_t{3999}, test);
  const std::vector<bool> found = admitted(one_test(test), &columns, 4000);
  CHECK_EQ(std::count(found.begin(), found.end(), true), 1);
}

// More distinct strings than there are codes.
TEST(filter_strings_beyond_the_codes_are_found) {
  const base::EpochGuard guard;
  Columns columns;
  std::vector<std::string> payloads;
  constexpr uint32_t kDocs = 33'000;  // three strings each
  payloads.reserve(kDocs);
  for (uint32_t doc = 0; doc < kDocs; ++doc) {
    const std::string n = std::to_string(doc);
    payloads.push_back(payload_of(doc % 2 ? R"({"f":["a\n)" + n + "\",\"b" + n + "\",\"c" + n + "\"]}"
                                          : "{\"f\":\"s\\n" + n + "\"}"));
    append(columns, doc, payloads.back());
  }
  for (uint32_t doc = kDocs; doc < 65'536; ++doc) {
    payloads.push_back(payload_of("{\"f\":\"s\\n" + std::to_string(doc) + "\"}"));
    append(columns, doc, payloads.back());
  }
  for (const uint32_t doc : {0u, 1u, 32'999u, 40'000u, 65'535u}) {
    Test test;
    test.field = "f";
    const std::string n = std::to_string(doc);
    test.elements = doc < kDocs && doc % 2 == 1;
    test.strings.push_back((test.elements ? "a\n" : "s\n") + n);
    const std::vector<bool> found = admitted(one_test(test), &columns, 65'536);
    CHECK(found[doc]);
    CHECK_EQ(std::count(found.begin(), found.end(), true), 1);
    test.elements = !test.elements;
    const std::vector<bool> other = admitted(one_test(test), &columns, 65'536);
    CHECK_EQ(std::count(other.begin(), other.end(), true), 0);
  }
  Test range;
  range.field = "f";
  add_strings(Comparison::at_least, "s\n", range);
  const std::vector<bool> found = admitted(one_test(range), &columns, 65'536);
  CHECK_EQ(std::count(found.begin(), found.end(), true), 65'536 - kDocs / 2);
}

// Numbers at every boundary, compared as long double (64 bits of mantissa hold both types).
TEST(filter_numbers_compare_exactly) {
  if (std::numeric_limits<long double>::digits < 64) SKIP("no type here holds both kinds of numbers");
  const std::vector<int64_t> integers{std::numeric_limits<int64_t>::min() + 1,
                                      -(int64_t{1} << 53) - 1,
                                      -1,
                                      0,
                                      1,
                                      (int64_t{1} << 53),
                                      (int64_t{1} << 53) + 1,
                                      (int64_t{1} << 62) + 1,
                                      std::numeric_limits<int64_t>::max()};
  const double most = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<double> reals{-most, -0x1p63, -0x1p53, -0.5,       -tiny,  -0.0,   0.0, tiny,
                                  0.5,   1.0,     0x1p53,  0x1p53 + 2, 0x1p62, 0x1p63, most};
  std::vector<std::pair<long double, std::string>> values;
  char text[64];
  for (const int64_t i : integers) values.emplace_back(i, std::to_string(i));
  for (const double x : reals) {
    std::snprintf(text, sizeof text, "%.17e", x);
    values.emplace_back(x, text);
  }
  Columns columns;
  const base::EpochGuard guard;
  std::vector<std::string> payloads;
  for (const auto& [value, written] : values) payloads.push_back(payload_of("{\"n\":" + written + "}"));
  for (uint32_t doc = 0; doc < payloads.size(); ++doc) append(columns, doc, payloads[doc]);
  const auto holds = [](Comparison comparison, long double value, long double operand) {
    switch (comparison) {
      case Comparison::equal:
        return value == operand;
      case Comparison::less:
        return value < operand;
      case Comparison::at_most:
        return value <= operand;
      case Comparison::greater:
        return value > operand;
      case Comparison::at_least:
        break;
    }
    return value >= operand;
  };
  const auto compare = [&](auto operand) {
    for (const auto comparison : {Comparison::equal, Comparison::less, Comparison::at_most,
                                  Comparison::greater, Comparison::at_least}) {
      Test test;
      test.field = "n";
      add_numbers(comparison, operand, test);
      const std::vector<bool> found =
          admitted(one_test(test), &columns, static_cast<uint32_t>(values.size()));
      for (size_t i = 0; i < values.size(); ++i)
        CHECK_EQ(bool{found[i]}, holds(comparison, values[i].first, static_cast<long double>(operand)));
    }
  };
  for (const int64_t i : integers) compare(i);
  compare(std::numeric_limits<int64_t>::min());
  for (const double x : reals) compare(x);
  compare(std::numeric_limits<double>::infinity());
  compare(-std::numeric_limits<double>::infinity());
}

// Equals a loop over the values: many single values, some of them duplicates, empty ranges, and wider ranges
// that overlap.
TEST(filter_many_ranges_admit_what_one_of_them_holds) {
  const base::EpochGuard guard;
  std::mt19937_64 random(11);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min() + 1,
                    kGreatest = std::numeric_limits<int64_t>::max();
  for (const bool sparse : {false, true}) {
    Columns columns;
    std::deque<std::string> payloads;  // which the columns refer to
    std::vector<std::optional<int64_t>> values;
    for (uint32_t doc = 0; doc < 1000; ++doc) {
      values.emplace_back();
      if (sparse ? doc % 50 == 7 : doc % 9 != 4)
        values.back() = doc % 100 == 7 ? (doc % 200 == 7 ? kLeast : kGreatest)
                                       : static_cast<int64_t>(random() % 400) - 50;
      payloads.push_back(payload_of(values.back() ? "{\"n\":" + std::to_string(*values.back()) + "}" : "{}"));
      append(columns, doc, payloads.back());
    }
    for (int round = 0; round < 60; ++round) {
      Test test;
      test.field = "n";
      const uint64_t n_ranges = 1 + random() % (round % 3 == 0 ? 12 : 300);
      for (uint64_t i = 0; i < n_ranges; ++i) {
        const int64_t least = random() % 40 == 0 ? (random() % 2 == 0 ? kLeast : kGreatest)
                                                 : static_cast<int64_t>(random() % 400) - 50;
        const int64_t width = round % 2 == 0 || least == kGreatest ? 0 : static_cast<int64_t>(random() % 5);
        test.integers.push_back(random() % 20 == 0 ? Range{} : Range{least, least + width});
      }
      const std::vector<Range> ranges = test.integers;
      const std::vector<bool> found = admitted(one_test(std::move(test)), &columns, 1000);
      for (uint32_t doc = 0; doc < 1000; ++doc) {
        const bool expected =
            values[doc] && std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
              return range.least <= *values[doc] && *values[doc] <= range.greatest;
            });
        CHECK_EQ(static_cast<bool>(found[doc]), expected);
      }
    }
  }
}

// One thread appends, others evaluate what is visible to them.
TEST(filter_columns_are_read_while_they_grow) {
  constexpr uint32_t kDocs = 20'000;
  std::vector<std::string> payloads;
  for (uint32_t doc = 0; doc < kDocs; ++doc) {
    payloads.push_back(payload_of("{\"n\":" + std::to_string(doc) + ",\"s\":\"v" + std::to_string(doc % 700) +
                                  "\"" + (doc % 97 == 0 ? ",\"rare\":[\"x\"]" : "") + "}"));
  }
  Columns columns;
  std::atomic<uint32_t> n_published{0};
  const auto read = [&] {
    Test by_number, by_string, by_element;
    by_number.field = "n";
    add_numbers(Comparison::at_least, int64_t{10}, by_number);
    by_string.field = "s";
    by_string.strings = {"v5", "v300"};
    by_element.field = "rare";
    by_element.elements = true;
    by_element.strings = {"x"};
    const Predicate number = one_test(by_number), string = one_test(by_string),
                    element = one_test(by_element);
    for (uint32_t n = 0; n < kDocs;) {
      const base::EpochGuard guard;
      n = n_published.load(std::memory_order_acquire);
      const std::vector<bool> numbers = admitted(number, &columns, n),
                              strings = admitted(string, &columns, n),
                              elements = admitted(element, &columns, n);
      for (uint32_t doc = 0; doc < n; ++doc) {
        if (numbers[doc] != (doc >= 10) || strings[doc] != (doc % 700 == 5 || doc % 700 == 300) ||
            elements[doc] != (doc % 97 == 0)) {
          CHECK(false);
          return;
        }
      }
    }
  };
  std::thread first(read), second(read);
  for (uint32_t doc = 0; doc < kDocs; ++doc) {
    const base::EpochGuard guard;
    append(columns, doc, payloads[doc]);
    n_published.store(doc + 1, std::memory_order_release);
  }
  first.join();
  second.join();
}
