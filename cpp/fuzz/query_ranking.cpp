// Checks that any combination of ranking options is rejected, or that its results are valid: in order,
// without duplicates, visible, and with finite numbers.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "filter/language.hpp"
#include "hostile_text.hpp"

namespace {

using namespace scrubjay;
using namespace scrubjay::engine;

void expect(bool right) {
  if (!right) std::abort();
}

struct Prepared {
  std::unique_ptr<Engine> engine;
  std::vector<ScopeRef> scopes;
  std::vector<filter::Predicate> entities;

  Prepared() {
    EngineOptions options;
    options.dim = 3;
    options.chunk_docs = 16;
    engine = std::make_unique<Engine>(options);
    const std::optional<std::string_view> none;
    scopes = {std::make_shared<Scope>("acme", none, none), std::make_shared<Scope>("acme", "jane", none),
              std::make_shared<Scope>("globex", none, none)};
    constexpr const char* texts[] = {"oak tea train", "sk-stg-0041 oak", "tea tea tea", "",
                                     "winter train TS-999 oak"};
    for (int64_t i = 0; i < 60; ++i) {
      const std::string payload = "{\"metadata\":{\"entities\":[\"e" + std::to_string(i % 4) +
                                  "\"],\"importance\":" + std::to_string(i % 3) + "},\"created_at\":\"20" +
                                  std::to_string(10 + i % 20) + "-03-01T09:30:00+00:00\"}";
      const float vector[] = {static_cast<float>(i % 5) - 2.0f, static_cast<float>(i % 7) - 3.0f, 1.0f};
      DocumentInput input{Id::of(i / 2), texts[i % 5], payload, scopes[static_cast<size_t>(i) % 3], vector};
      if (i % 6 == 5) input.vector = {};
      static_cast<void>(engine->upsert({&input, 1}));
    }
    for (const char* name : {"e0", "e3", "e9"}) {
      const filter::Literal has = filter::Literal::Object{
          {filter::Literal("entities"),
           filter::Literal(filter::Literal::Object{{filter::Literal("$contains"), filter::Literal(name)}})}};
      entities.push_back(*filter::compile(has));
    }
  }
};

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // Mostly usual numbers, sometimes any bits.
  double number() {
    constexpr double usual[] = {0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 60.0, 1e-300, 1e300, -0.0, -1.0};
    const uint8_t choice = byte();
    if (choice < 250) return usual[choice % std::size(usual)];
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
    double number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  std::string_view rest() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const uint8_t* data_;
  size_t size_;
};

RankingOptions options_of(Bytes& in) {
  RankingOptions options;
  fusion::Options& fusion = options.fusion;
  const uint8_t flags = in.byte();
  fusion.method = static_cast<fusion::Method>(in.byte() % 5);
  fusion.normalise = static_cast<fusion::Normalise>(in.byte() % 4);
  fusion.rrf_k = in.number();
  fusion.lexical_weight = in.number();
  fusion.vector_weight = in.number();
  for (int n = in.byte() % 3; n > 0; --n) fusion.ranking_weights.push_back(in.number());
  if (flags & 1) fusion.boost = in.number(), fusion.gate = in.number(), fusion.floor = in.number();
  fusion.literal = (flags & 2) != 0;
  fusion.guarantee = !fusion.literal;
  options.identifier_tier = (flags & 4) != 0;
  if (flags & 8) options.coverage_weight = in.number(), options.recency_weight = in.number();
  if (flags & 8) options.half_life_us = in.number() * 1e12;
  if (flags & 16) options.entity_weight = in.number(), options.prior_weight = in.number();
  if (flags & 32) options.mmr_lambda = in.number();
  if (flags & 64) options.min_score = in.number();
  if (flags & 128) {
    options.least_relevance = static_cast<Relevance>(in.byte() % 4);
    for (RelevanceBound& bound : options.relevance) bound = {in.number(), in.number()};
  }
  options.now_us = 1'800'000'000'000'000;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Prepared prepared;
  Bytes in(data, size);
  const RankingOptions options = options_of(in);
  try {
    check(options);
  } catch (const base::InvalidArgument& error) {
    expect(std::string_view(error.what()).find("expected") != std::string_view::npos);
    return 0;
  }
  std::vector<std::vector<DocumentKey>> rankings(in.byte() % 3);
  for (std::vector<DocumentKey>& ranking : rankings) {
    for (int n = in.byte() % 8; n > 0; --n) {
      const uint8_t owner = in.byte() % 6;
      ranking.push_back(
          {owner < 3 ? prepared.scopes[owner].get() : nullptr, Id::of(int64_t{in.byte() % 35})});
    }
  }
  const uint8_t choice = in.byte();
  const float vector[] = {static_cast<float>(in.byte()) - 100.0f, 1.0f, 2.0f};
  SearchRequest request;
  request.k = 1 + in.byte() % 70;
  request.lexical_candidates = request.vector_candidates = in.byte() % 3 == 0 ? request.k : 0;
  const std::string text = std::string(choice % 2 ? "oak tea sk-stg-0041 " : "") + std::string(in.rest());
  if (choice % 8 != 7) request.text = text;
  if (choice % 8 != 6) request.vector = vector;
  request.scope = prepared.scopes[choice % 3].get();
  request.ranking = &options;
  request.rankings = rankings;
  if (options.entity_weight != 0.0) request.entities = prepared.entities;
  request.explain = choice % 16 < 8;
  const SearchResult result = prepared.engine->search(request);
  expect(result.hits.size() <= request.k);
  std::set<std::pair<int64_t, const Scope*>> keys;
  double before = INFINITY;
  bool in_tier = true;
  for (const Hit& hit : result.hits) {
    const Chunk& chunk = result.chunk_of(hit);
    expect(keys.emplace(chunk.id(hit.offset).integer, chunk.scope().get()).second);
    expect(request.scope->contains(*result.chunk_of(hit).scope()) ||
           result.chunk_of(hit).scope()->contains(*request.scope));
    expect(!std::isnan(hit.score) && hit.score >= options.min_score);
    if (in_tier && !hit.identifier) in_tier = false, before = INFINITY;
    expect(!hit.identifier || in_tier);
    if (!options.diversifies()) expect(hit.score <= before);
    before = hit.score;
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  if (seed % 4 != 0) return LLVMFuzzerMutate(data, size, max_size);
  return hostile::mutate(data, size, max_size, seed / 4);
}
