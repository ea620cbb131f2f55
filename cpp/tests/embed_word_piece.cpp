// Word pieces, and the file of a static embedder.
#include "embed/word_piece.hpp"

#include <cmath>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "check.hpp"
#include "embed/static_embedder.hpp"
#include "embed_static_table.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay;
using embed::StaticTable;
using embed::WordPieceTokenizer;

namespace {

std::string spelled(const WordPieceTokenizer& tokenizer, std::string_view text) {
  WordPieceTokenizer::Scratch scratch;
  std::vector<uint32_t> tokens;
  tokenizer.tokenize(text, scratch, tokens);
  std::string line;
  for (const uint32_t id : tokens) line += (line.empty() ? "" : "|") + std::string(tokenizer.token(id));
  return line;
}

}  // namespace

TEST(word_pieces_are_the_longest_from_the_left) {
  StaticTable table;
  test_static_table::fill(table);
  const WordPieceTokenizer tokenizer(table.vocabulary);
  CHECK_EQ(spelled(tokenizer, ""), "");
  CHECK_EQ(spelled(tokenizer, "The\tthe"), "the|the");
  CHECK_EQ(spelled(tokenizer, "thea"), "the|##a");
  CHECK_EQ(spelled(tokenizer, "aab"), "a|##ab");
  CHECK_EQ(spelled(tokenizer, "a.b"), "a|.|b");
  CHECK_EQ(spelled(tokenizer, "qa"), "##a");  // no token begins with q
  CHECK_EQ(spelled(tokenizer, "aqb"), "a|##b");
  CHECK_EQ(spelled(tokenizer, "##a"), "a");
  CHECK_EQ(spelled(tokenizer, "\xc3\x84"), "a");                          // capital a with diaeresis
  CHECK_EQ(spelled(tokenizer, "a\xe6\x9d\xb1\x61"), "a|\xe6\x9d\xb1|a");  // an ideograph is a word
  CHECK_EQ(spelled(tokenizer, "a\xe2\x80\xa6"), "a|.|.|.");               // an ellipsis is three full stops
  CHECK_EQ(spelled(tokenizer, "a\xe2\x80\x99\x61"), "a|a");               // a curly apostrophe is a word
  CHECK_EQ(spelled(tokenizer, "a" + std::string(99, 'q') + "b"), "a");    // the 101st byte
}

TEST(malformed_word_piece_vocabularies_are_refused) {
  const auto refused = [](std::vector<std::string_view> vocabulary) {
    CHECK_THROWS(WordPieceTokenizer(vocabulary), base::InvalidArgument);
  };
  refused({});
  refused({"a", ""});
  refused({"\xff"});
}

TEST(static_table_is_read_as_it_was_written) {
  for (const unsigned bits : {4u, 8u}) {
    StaticTable table, read;
    test_static_table::fill(table);
    if (bits == 8) table.rows[3] = -128;
    const std::string bytes = write_static_table(table, bits);
    read_static_table(bytes, read);
    CHECK_EQ(read.name, table.name);
    CHECK_EQ(read.dim, table.dim);
    CHECK(read.vocabulary == table.vocabulary);
    CHECK(read.factors == table.factors);
    CHECK(read.rows == table.rows);
    for (size_t size = 0; size < bytes.size(); ++size) {  // truncated anywhere
      StaticTable other;
      CHECK_THROWS(read_static_table(std::string_view(bytes).substr(0, size), other), base::Corrupt);
    }
    for (size_t at = 0; at < bytes.size(); ++at) {  // changed anywhere
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      StaticTable other;
      CHECK_THROWS(read_static_table(changed, other), base::Corrupt);
    }
  }
}

TEST(static_table_is_refused_though_its_checksum_fits) {
  const auto refused = [](auto&& change, unsigned bits = 8) {
    StaticTable table, other;
    test_static_table::fill(table);
    change(table);
    CHECK_THROWS(read_static_table(write_static_table(table, bits), other), base::Corrupt);
  };
  refused([](StaticTable& table) { table.dim = 24; });
  refused([](StaticTable& table) { table.name.clear(); });
  refused([](StaticTable& table) { table.name = "\xff"; });
  refused([](StaticTable& table) { table.strings[0] = '\n'; });
  refused([](StaticTable& table) { table.strings.back() = 'x'; });
  refused([](StaticTable& table) { table.strings[1] = '\xff'; });
  refused([](StaticTable& table) { table.factors[0] = std::nanf(""); });
  refused([](StaticTable& table) { table.factors[0] = -1.0f; });
  refused([](StaticTable& table) { table.factors[0] = 1e30f; });
  refused([](StaticTable& table) { table.vocabulary.pop_back(); });
  refused([](StaticTable&) {}, 5);
}

TEST(static_embedder_adds_rows_of_bytes_alike_at_every_level) {
  StaticTable table;
  test_static_table::fill(table);
  const uint32_t ids[] = {2, 0, 2, 5, 1};
  std::vector<float> expected(table.dim, 0.0f);
  for (const uint32_t id : ids)
    for (uint32_t i = 0; i < table.dim; ++i)
      expected[i] += table.factors[id] * static_cast<float>(table.rows[id * table.dim + i]);
  for (const simd::Kernels* kernels : simd::available_kernels()) {
    std::vector<float> out(table.dim, 7.0f);
    kernels->sum_rows_i8(table.rows.data(), table.factors.data(), ids, std::size(ids), table.dim, out.data());
    CHECK(out == expected);
  }
  const embed::StaticEmbedder embedder(
      WordPieceTokenizer(table.vocabulary),
      {embed::ByteRows{table.rows.data(), table.factors.data()}, table.vocabulary.size(), table.dim});
  std::vector<float> vector(table.dim, 7.0f);
  CHECK(!embedder.embed("", vector));
  CHECK(vector == std::vector<float>(table.dim, 0.0f));
  CHECK(embedder.embed("the \xff a", vector));
  CHECK_EQ(embedder.tokenize("the \xff a").size(), 2u);
  CHECK(std::abs(simd::kernels().dot_f32_f32(vector.data(), vector.data(), table.dim) - 1.0f) < 1e-5f);
}
