#include "check.hpp"
#include "text/utf8.hpp"

using namespace scrubjay::text;

TEST(sanitize_keeps_well_formed_text) {
  for (const std::string_view text : {"", "ascii", "caf\u00e9", "\u6771\u4eac", "\U0001F600", "\x7f"}) {
    CHECK_EQ(sanitize_utf8(text), text);
    CHECK_EQ(valid_utf8_prefix(text), text.size());
  }
}

TEST(sanitize_replaces_each_maximal_subpart_once) {
  // Table 3-8 of the Unicode standard.
  CHECK_EQ(sanitize_utf8("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"),
           "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"
           "A");
  // Table 3-11: truncated sequences are one subpart each.
  CHECK_EQ(sanitize_utf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), "\ufffd\ufffd\ufffd\ufffdA");
  CHECK_EQ(sanitize_utf8("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");            // a surrogate
  CHECK_EQ(sanitize_utf8("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd");  // beyond U+10FFFF
  CHECK_EQ(sanitize_utf8("abcdefgh\xff"), "abcdefgh\ufffd");
  CHECK_EQ(sanitize_utf8("\xe6\x9d"), "\ufffd");
}

TEST(valid_prefix_ends_before_the_first_bad_byte) {
  CHECK_EQ(valid_utf8_prefix("abc\xff"), 3);
  CHECK_EQ(valid_utf8_prefix("\xc3\xa9\xe6\x9d"), 2);
}

TEST(cut_never_splits_a_character) {
  CHECK_EQ(cut_utf8("a\u00e9", 2), "a");
  CHECK_EQ(cut_utf8("a\u00e9", 3), "a\u00e9");
  CHECK_EQ(cut_utf8("\u6771\u4eac", 5), "\u6771");
  CHECK_EQ(cut_utf8("\U0001F600", 3), "");
}

TEST(decode_reads_every_length) {
  CHECK_EQ(static_cast<uint32_t>(decode_utf8("A", 0)), 0x41u);
  CHECK_EQ(static_cast<uint32_t>(decode_utf8("x\u00e9", 1)), 0xe9u);
  CHECK_EQ(static_cast<uint32_t>(decode_utf8("\u6771", 0)), 0x6771u);
  CHECK_EQ(static_cast<uint32_t>(decode_utf8("\U0001F600", 0)), 0x1f600u);
}
