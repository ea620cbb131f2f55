// The tokenizer of the static embedder: splitting and lookups equal one long piece.
#include <random>

#include "base/errors.hpp"
#include "check.hpp"
#include "embed/static_embedder.hpp"
#include "embed_vocabulary.hpp"
#include "simd/kernels.hpp"

using namespace scrubjay;
using embed::BytePairTokenizer;

namespace {

std::vector<uint32_t> tokens_of(const BytePairTokenizer& tokenizer, std::string_view text) {
  BytePairTokenizer::Scratch scratch;
  std::vector<uint32_t> tokens;
  tokenizer.tokenize(text, scratch, tokens);
  return tokens;
}

std::string spelled(const BytePairTokenizer& tokenizer, std::string_view text) {
  std::string line;
  for (const uint32_t id : tokens_of(tokenizer, text))
    line += (line.empty() ? "" : "|") + std::string(tokenizer.token(id));
  return line;
}

std::string marked(std::string text) {  // '_' is the marker
  std::string out;
  for (const char c : text) out += c == '_' ? std::string("\xe2\x96\x81") : std::string(1, c);
  return out;
}

}  // namespace

TEST(byte_pairs_merge_by_rank_then_from_the_left) {
  const BytePairTokenizer tokenizer = test_vocabulary::make();
  CHECK_EQ(spelled(tokenizer, ""), "");
  CHECK_EQ(spelled(tokenizer, "the"), marked("_the"));
  CHECK_EQ(spelled(tokenizer, "the the"), marked("_the|_the"));
  CHECK_EQ(spelled(tokenizer, "aaa"), marked("_a|aa"));
  CHECK_EQ(spelled(tokenizer, "  a"), marked("__|_a"));
  CHECK_EQ(spelled(tokenizer, "q"), marked("_|<0x71>"));
  CHECK_EQ(spelled(tokenizer, "a\xc3\xa9\xc3\xa9"), marked("_a|\xc3\xa9\xc3\xa9"));
  CHECK_EQ(spelled(tokenizer, "\xc3\xaa"), marked("_|<0xC3>|<0xAA>"));
}

TEST(byte_pairs_find_added_tokens_first_and_longest) {
  const BytePairTokenizer tokenizer = test_vocabulary::make();
  CHECK_EQ(spelled(tokenizer, "<s>"), "<s>");
  CHECK_EQ(spelled(tokenizer, "<s>a"), marked("<s>|_a"));
  CHECK_EQ(spelled(tokenizer, "a<s><s>>a"), marked("_a|<s>|<s>>|_a"));
  CHECK_EQ(spelled(tokenizer, "<s"), marked("_|<0x3C>|s"));
}

TEST(byte_pairs_equal_the_plain_definition) {
  const BytePairTokenizer tokenizer = test_vocabulary::make();
  constexpr std::string_view kPieces[] = {"a",
                                          "b",
                                          "t",
                                          "h",
                                          "e",
                                          " ",
                                          "  ",
                                          "the",
                                          ".",
                                          "q",
                                          "<s>",
                                          "<s>>",
                                          "<",
                                          "\xc3\xa9",
                                          "\xc3\xaa",
                                          "\xe2\x96\x81",
                                          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                          "\xf0\x9f\x90\xa6",
                                          std::string_view("\0", 1)};
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const size_t n = random() % (round % 100 == 0 ? 200 : 12);
    for (size_t i = 0; i < n; ++i) text += kPieces[random() % std::size(kPieces)];
    std::vector<uint32_t> plain;
    tokenizer.tokenize_plainly(text, plain);
    if (tokens_of(tokenizer, text) != plain) CHECK_EQ(spelled(tokenizer, text), "as plainly: " + text);
  }
}

TEST(malformed_byte_pair_files_are_refused) {
  using test_vocabulary::Parts;
  const auto broken = [](auto&& change) {
    Parts parts = test_vocabulary::parts();
    change(parts);
    CHECK_THROWS(test_vocabulary::make(parts), base::InvalidArgument);
  };
  broken([](Parts& parts) { parts.vocabulary[3] = "none"; });      // a byte without a token
  broken([](Parts& parts) { parts.vocabulary.back() = "\xff"; });  // not UTF-8
  broken([](Parts& parts) { parts.merges[0].left = 100'000; });    // no such token
  broken([](Parts& parts) { std::swap(parts.merges[0].left, parts.merges[1].left); });  // another sum
  broken([](Parts& parts) { parts.added[0].id = 100'000; });
  broken([](Parts& parts) { parts.added[0].content.clear(); });
}

TEST(static_embedder_adds_rows_in_order_and_scales_them) {
  const BytePairTokenizer tokenizer = test_vocabulary::make();
  constexpr uint32_t kDim = 48;
  std::vector<float> rows(tokenizer.n_tokens() * kDim);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (float& element : rows) element = normal(random);
  std::vector<uint16_t> halves(rows.size());
  simd::kernels().to_f16(rows.data(), rows.size(), halves.data());
  simd::kernels().from_f16(halves.data(), rows.size(), rows.data());  // the same numbers in both tables
  const embed::StaticEmbedder single(tokenizer, {rows.data(), tokenizer.n_tokens(), kDim});
  const embed::StaticEmbedder half(tokenizer, {halves.data(), tokenizer.n_tokens(), kDim});
  for (const std::string_view text : {"", "a", "the the", "a the q\xff", "aaaa<s>the. b"}) {
    std::vector<float> expected(kDim, 0.0f), got(kDim, 9.0f), again(kDim, 9.0f);
    for (const uint32_t id : half.tokenize(text))
      for (uint32_t i = 0; i < kDim; ++i) expected[i] += rows[id * kDim + i];
    const float length = std::sqrt(simd::kernels().dot_f32_f32(expected.data(), expected.data(), kDim));
    if (!text.empty())
      for (float& element : expected) element /= length;
    CHECK_EQ(half.embed(text, got), !text.empty());
    CHECK_EQ(single.embed(text, again), !text.empty());
    CHECK(got == expected);
    CHECK(again == expected);
  }
  CHECK_THROWS(embed::StaticEmbedder(tokenizer, {rows.data(), tokenizer.n_tokens(), 24}),
               base::InvalidArgument);
  CHECK_THROWS(embed::StaticEmbedder(tokenizer, {rows.data(), 7, kDim}), base::InvalidArgument);
}
