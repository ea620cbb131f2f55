// Length codes keep what BM25 needs of a document's length.
#include "check.hpp"
#include "lexical/posting.hpp"

using namespace scrubjay::lexical;

TEST(length_codes_are_exact_up_to_1024) {
  for (uint32_t length = 0; length <= kExactLength; ++length) {
    CHECK_EQ(encode_length(length), length);
    CHECK_EQ(decode_length(length), length);
  }
}

TEST(length_codes_round_trip_and_ascend) {
  for (uint32_t code = 0; code <= kMaxLengthCode; ++code) {
    CHECK_EQ(encode_length(decode_length(code)), code);
    if (code == 0) continue;
    CHECK(decode_length(code) > decode_length(code - 1));
    CHECK_EQ(encode_length(decode_length(code) - 1), code - 1);  // the last length of the previous step
  }
}

TEST(length_codes_are_off_by_less_than_a_percent) {
  for (uint32_t length = kExactLength; length < 2 * 1024 * 128; length += 7) {
    const uint32_t decoded = decode_length(encode_length(length));
    CHECK(decoded <= length);
    CHECK(length - decoded < (length + 99) / 100);
  }
}

TEST(length_codes_saturate) {
  CHECK_EQ(decode_length(kMaxLengthCode), 131072 + 127 * 1024);  // where the last step begins
  CHECK_EQ(encode_length(262143), kMaxLengthCode);
  CHECK_EQ(encode_length(262144), kMaxLengthCode);
  CHECK_EQ(encode_length(uint64_t{1} << 40), kMaxLengthCode);
  CHECK_EQ(encode_length(UINT64_MAX), kMaxLengthCode);
}

TEST(payloads_hold_frequency_and_length) {
  for (uint32_t tf = 1; tf <= 40; ++tf) {
    for (const uint32_t code : {0u, 1u, 1024u, kMaxLengthCode}) {
      const uint16_t payload = pack_payload(tf, code);
      CHECK_EQ(payload_tf(payload), tf > 31 ? 31 : tf);
      CHECK_EQ(payload_length_code(payload), code);
    }
  }
}

TEST(shortest_lengths_are_bounds_by_frequency) {
  for (uint32_t code = 0; code <= kMaxLengthCode; ++code) {
    for (const uint32_t tf : {1u, 2u, 3u, 4u, 31u}) {
      Shortest shortest;
      CHECK_EQ(shortest.least_length_code(), kMaxLengthCode);
      shortest.add(tf, code);
      for (uint32_t c = 0; c < Shortest::kClasses; ++c) CHECK_EQ(shortest.has(c), c == std::min(tf, 4u) - 1);
      const uint32_t kept = shortest.length_code(std::min(tf, 4u) - 1);
      CHECK(kept <= code && kept >= code - code / 32);
      CHECK_EQ(shortest.least_length_code(), kept);
      shortest.add(tf, kMaxLengthCode);
      CHECK_EQ(shortest.length_code(std::min(tf, 4u) - 1), kept);
    }
  }
}
