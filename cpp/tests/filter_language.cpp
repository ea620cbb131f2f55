// Filters from C++: the documents that they admit, and their error messages.
#include "filter/language.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "check.hpp"
#include "filter/attributes.hpp"
#include "filter/columns.hpp"

using namespace scrubjay;
using filter::Literal;

namespace {

using Object = Literal::Object;
using List = Literal::List;

Literal of(const char* key, Literal value) { return Object{{key, std::move(value)}}; }

// The documents that a filter admits, as a bitmap.
uint64_t admitted(const Literal& conditions) {
  filter::Columns columns;
  constexpr const char* payloads[] = {
      R"({"metadata":{"kind":"fact","n":3,"tags":["a","b"],"day":"2026-03-01"},"created_at":"2026-03-01"})",
      R"({"metadata":{"kind":"episode","n":4.5,"done":true},"created_at":"1970-01-01T00:00:00.000002"})",
      R"({"metadata":{"kind":"fact","n":9223372036854775807}})",
      "no metadata",
  };
  filter::Attributes attributes;
  for (uint32_t doc = 0; doc < 4; ++doc) {
    static_cast<void>(filter::read_attributes(payloads[doc], attributes));
    columns.append(doc, attributes, payloads[doc]);
  }
  const auto predicate = filter::compile(conditions);
  const base::EpochGuard guard;
  uint64_t bits = 0;
  filter::Evaluation().run(*predicate, &columns, 4, &bits);
  return bits;
}

template <class Error>
std::string message_of(const Literal& conditions) {
  try {
    static_cast<void>(filter::compile(conditions));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error of this kind";
}

}  // namespace

TEST(filter_language_admits) {
  CHECK_EQ(admitted(Object{}), 0b1111);
  CHECK_EQ(admitted(of("kind", "fact")), 0b0101);
  CHECK_EQ(admitted(of("kind", of("$ne", "fact"))), 0b1010);
  CHECK_EQ(admitted(Object{{"kind", "fact"}, {"n", of("$lt", 10)}}), 0b0001);
  CHECK_EQ(admitted(of("n", Object{{"$gt", 3}, {"$lte", 4.5}})), 0b0010);
  CHECK_EQ(admitted(of("n", of("$in", List{4.5, 3, "x"}))), 0b0011);
  CHECK_EQ(admitted(of("n", of("$nin", List{4.5, 3}))), 0b1100);
  CHECK_EQ(admitted(of("tags", of("$in", List{"b", "z"}))), 0b0001);
  CHECK_EQ(admitted(of("tags", of("$in", List{"z", 3}))), 0b0000);
  CHECK_EQ(admitted(of("tags", of("$nin", List{"a"}))), 0b1110);
  CHECK_EQ(admitted(of("n", of("$exists", true))), 0b0111);
  CHECK_EQ(admitted(of("tags", of("$contains", "b"))), 0b0001);
  CHECK_EQ(admitted(of("done", true)), 0b0010);
  CHECK_EQ(admitted(of("n", of("$not", of("$gt", 3)))), 0b1001);
  CHECK_EQ(admitted(of("$or", List{of("n", 3), of("done", true)})), 0b0011);
  CHECK_EQ(admitted(of("$and", List{of("kind", "fact"), of("$not", of("n", 3))})), 0b0100);
  CHECK_EQ(admitted(of("created_at", of("$gte", "2026-01-01"))), 0b0001);
  CHECK_EQ(admitted(of("created_at", Literal::Time{2})), 0b0010);
  CHECK_EQ(admitted(of("created_at", 0.000002)), 0b0010);
}

TEST(filter_language_tells_what_admits_everything) {
  const auto everything = [](const Literal& conditions) {
    return filter::admits_everything(*filter::compile(conditions));
  };
  const Literal nothing = of("$or", List{});
  CHECK(everything(Object{}));
  CHECK(everything(of("$and", List{Object{}, of("$and", List{})})));
  CHECK(everything(of("$not", nothing)));
  CHECK(everything(of("$or", List{of("kind", "fact"), Object{}})));
  CHECK(everything(of("kind", of("$nin", List{}))));
  CHECK(!everything(of("kind", of("$in", List{}))));
  CHECK(!everything(of("kind", of("$nin", List{"fact"}))));
  CHECK(!everything(of("kind", of("$exists", true))));
  CHECK(!everything(nothing));
  CHECK(!everything(of("$not", Object{})));
  CHECK(!everything(of("kind", "fact")));
  CHECK(!everything(of("$and", List{of("kind", "fact"), Object{}})));
  CHECK(!everything(of("$not", of("$or", List{of("kind", "fact"), Object{}}))));
}

TEST(filter_language_a_text_that_is_a_time_passes_conditions_of_both_types) {
  constexpr Literal::Time kDay{1'772'323'200'000'000};  // 2026-03-01
  CHECK_EQ(admitted(of("day", Object{{"$in", List{kDay}}, {"$gte", ""}})), 0b0001);
  CHECK_EQ(admitted(of("day", Object{{"$lt", "3"}, {"$gte", kDay}, {"$lte", kDay}, {"$gt", "1"}})), 0b0001);
  CHECK_EQ(admitted(of("day", Object{{"$gte", kDay}, {"$lt", "1"}})), 0b0000);
  CHECK_EQ(admitted(of("day", Object{{"$gte", kDay}, {"$lt", 1}})), 0b0000);
}

TEST(filter_language_errors_name_what_is_wrong) {
  using base::InvalidArgument, base::WrongType;
  CHECK_EQ(message_of<WrongType>(5), "filter: expected a mapping of fields to conditions, got int 5");
  CHECK_EQ(message_of<WrongType>(Object{{1, 2}}), "filter: expected str keys, got int 1");
  CHECK_EQ(message_of<InvalidArgument>(of("$near", 1)),
           "filter: expected a field, $and, $or or $not, got \"$near\"");
  CHECK_EQ(
      message_of<WrongType>(of("a", Literal())),
      "a.$eq: expected a str, number, bool or datetime, got null null; None is no value, ask with $exists");
  CHECK_EQ(message_of<WrongType>(of("a", of("$in", List{1, List{2, "x"}}))),
           "a.$in[1]: expected a str, number, bool or datetime, got list [2, \"x\"]");
  CHECK_EQ(message_of<WrongType>(of("$or", List{Object{}, of("$and", 3)})),
           "$or[1].$and: expected a list of filters, got int 3");
  CHECK_EQ(message_of<InvalidArgument>(of("a", of("$gt", std::nan("")))),
           "a.$gt: expected a number, got nan");
  CHECK_EQ(message_of<InvalidArgument>(of("created_at", "soon")),
           "created_at.$eq: expected an ISO 8601 time or seconds since 1970 in the years 1 to 9999, got str "
           "\"soon\"");
  CHECK(message_of<InvalidArgument>(of("a", Object{})).find("got {}") != std::string::npos);
  // A field's name may contain any bytes; the message does not end there.
  const Literal zero = Object{{std::string("a\0b", 3), of("$near", 1)}};
  CHECK(message_of<InvalidArgument>(zero).find("a\\x00b: expected an operator") == 0);
  Literal deep = of("a", 1);
  for (int level = 0; level < 1000; ++level) deep = of("$not", std::move(deep));
  CHECK(message_of<InvalidArgument>(deep).find("at most 60 levels") != std::string::npos);
}
