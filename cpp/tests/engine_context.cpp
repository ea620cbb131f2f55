// The context of a payload is what JSON says, for any bytes.
#include "engine/context.hpp"

#include <random>
#include <string>

#include "check.hpp"

using namespace scrubjay::engine;

namespace {

std::string read(std::optional<std::string_view> payload) {
  std::string buffer;
  return std::string(context_of(payload, buffer));
}

}  // namespace

TEST(a_context_is_the_first_member_of_a_payload) {
  CHECK(read(std::nullopt).empty());
  CHECK(read("").empty());
  CHECK(read(R"({"context":"Trips"})") == "Trips");
  CHECK(read(R"({"context":"Trips","metadata":{"a":1}})") == "Trips");
  CHECK(read(R"({"metadata":{"context":"no"},"context":"Trips"})").empty());
  CHECK(read(R"({"context":""})").empty());
  CHECK(read(R"({"context":7})").empty());
}

TEST(a_context_is_unescaped) {
  CHECK(read(R"({"context":"a \"b\" c\\d\/e"})") == "a \"b\" c\\d/e");
  CHECK(read(R"({"context":"a\nb\tc\u0001d"})") ==
        "a b c\x01"
        "d");
  CHECK(read(R"({"context":"\u00e9\u4eac\ud83d\ude00"})") == "\xc3\xa9\xe4\xba\xac\xf0\x9f\x98\x80");
  CHECK(read(R"({"context":"\ud83d!"})") == "\xed\xa0\xbd!");
}

TEST(invalid_json_has_no_context) {
  for (const char* payload : {R"({"context":"a)", R"({"context":"a\)", R"({"context":"a\q"})",
                              R"({"context":"\u12"})", R"({"context":"\u12g4"})", R"({"context":"\u)"})
    CHECK(read(payload).empty());
}

TEST(a_long_context_is_not_indexed) {
  const std::string most(kMaxContextBytes, 'a');
  CHECK(read("{\"context\":\"" + most + "\"}") == most);
  CHECK(read("{\"context\":\"" + most + "a\"}").empty());
  CHECK(read("{\"context\":\"\\n" + most.substr(1) + "\"}") == " " + most.substr(1));
  CHECK(read("{\"context\":\"\\n" + most + "\"}").empty());
}

TEST(payloads_of_any_bytes_are_read) {
  constexpr std::string_view kBytes = "ab\"\\u0d8c{},:\xc3\xa9\n";
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string payload = "{\"context\":\"";
    for (size_t n = random() % 24; n != 0; --n) payload += kBytes[random() % kBytes.size()];
    CHECK(read(payload).size() <= payload.size());
  }
}
