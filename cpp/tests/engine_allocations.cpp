// A warm search allocates only its result: the hits and the references to their chunks.
#include <array>
#include <random>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "check.hpp"
#include "embed/static_embedder.hpp"
#include "embed_vocabulary.hpp"
#include "engine/engine.hpp"

using namespace scrubjay::engine;
namespace embed = scrubjay::embed;

namespace {

constexpr uint32_t kDim = 32;
constexpr uint64_t kResultParts = 2;  // SearchResult::hits and SearchResult::chunks

std::string words(std::mt19937& random, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) text += "word" + std::to_string(random() % 40 * (random() % 40)) + " ";
  return text;
}

std::vector<float> direction(std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> vector(kDim);
  for (float& element : vector) element = normal(random);
  return vector;
}

struct Kind {
  const char* name;
  bool lexical, semantic, embedded;
};

}  // namespace

TEST(warm_searches_allocate_their_result_only) {
  if (!test_allocations::count()) SKIP("the sanitizer has its own operator new");
  const std::optional<std::string_view> kNone;
  const ScopeRef tenant = std::make_shared<Scope>("acme", kNone, kNone);
  const ScopeRef user = std::make_shared<Scope>("acme", "jane", kNone);
  std::mt19937 random(3);
  EngineOptions options;
  options.dim = kDim;
  options.chunk_docs = 1000;
  Engine engine(options);
  for (int64_t id = 0; id < 4000; ++id) {
    const std::string text = words(random, 1 + random() % 30);
    const std::vector<float> vector = direction(random);
    const DocumentInput document{Id::of(id), text, {}, id % 4 == 0 ? tenant : user, vector};
    engine.upsert({&document, 1});
  }
  for (int64_t id = 0; id < 4000; id += 7) {
    const DocumentKey dead{(id % 4 == 0 ? tenant : user).get(), Id::of(id)};
    (void)engine.remove({&dead, 1});
  }

  const embed::BytePairTokenizer tokenizer = test_vocabulary::make();
  std::vector<float> rows;
  for (size_t i = 0; i < tokenizer.n_tokens(); ++i)
    for (const float element : direction(random)) rows.push_back(element);
  const embed::StaticEmbedder embedder(tokenizer, {rows.data(), tokenizer.n_tokens(), kDim});

  std::vector<std::string> texts;
  std::vector<std::vector<float>> vectors;
  for (size_t i = 0; i < 200; ++i) {
    texts.push_back(words(random, 1 + i % 40));
    vectors.push_back(direction(random));
  }
  for (const Kind& kind : {Kind{"lexical", true, false, false}, Kind{"vector", false, true, false},
                           Kind{"hybrid", true, true, false}, Kind{"embedded", true, true, true}}) {
    for (const size_t k : {size_t{1}, size_t{10}, size_t{200}}) {
      uint64_t most = 0;
      for (int pass = 0; pass < 3; ++pass) {
        most = 0;
        for (size_t i = 0; i < texts.size(); ++i) {
          SearchRequest request;
          request.scope = user.get();
          request.k = k;
          request.lexical = kind.lexical;
          request.semantic = kind.semantic;
          if (kind.lexical || kind.embedded) request.text = texts[i];
          if (kind.semantic && !kind.embedded) request.vector = vectors[i];
          if (kind.embedded) request.embedder = &embedder;
          const uint64_t before = *test_allocations::count();
          const SearchResult result = engine.search(request);
          most = std::max(most, *test_allocations::count() - before);
        }
      }
      if (most > kResultParts)
        CHECK_EQ(std::string(kind.name) + ", k " + std::to_string(k) + ": " + std::to_string(most),
                 "at most 2");
      CHECK(most > 0);  // it does count
    }
  }
}
