// Searches give correct evidence, alone and in batches, and results do not change afterwards.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine_model.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

const std::optional<std::string_view> kNone;
const ScopeRef kScope = std::make_shared<Scope>("acme", kNone, kNone);
constexpr const char* kWords[] = {"deploy",  "staging", "tea",         "train",  "berlin",
                                  "invoice", "TS-999",  "sk-stg-0041", "python", "the"};

struct Collection {
  EngineOptions options;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Model> model;
  std::vector<ScopeRef> scopes{
      kScope, std::make_shared<Scope>("acme", "jane", kNone), std::make_shared<Scope>("acme", kNone, "bot"),
      std::make_shared<Scope>("acme", "jane", "bot"), std::make_shared<Scope>("globex", "jane", kNone)};
  std::mt19937 random{11};

  explicit Collection(size_t n, uint32_t chunk_docs = 7) {
    options.chunk_docs = chunk_docs;
    options.dim = 4;
    engine = std::make_unique<Engine>(options);
    model = std::make_unique<Model>(options);
    // The ids of the second half are those of the first half, usually in another scope.
    for (size_t i = 0; i < n; ++i)
      write(static_cast<int64_t>(i < n / 2 ? i : i - n / 2), scopes[random() % scopes.size()]);
  }
  void write(int64_t id, const ScopeRef& scope) {
    const std::string text = words(1 + random() % 12);
    const std::vector<float> vector = random() % 4 ? any_vector() : std::vector<float>();
    const DocumentInput input{Id::of(id), text, std::nullopt, scope, vector};
    CHECK_EQ(engine->upsert({&input, 1}), 1);
    model->upsert(input);
  }
  std::string words(size_t n) {
    std::string text;
    for (; n > 0; --n) text.append(kWords[random() % std::size(kWords)]).append(" ");
    return text;
  }
  std::vector<float> any_vector() {
    std::normal_distribution<float> normal;
    std::vector<float> vector(4);
    for (float& x : vector) x = normal(random);
    return vector;
  }
};

std::vector<Model::Key> keys_of(const SearchResult& result) {
  std::vector<Model::Key> keys;
  for (const Hit& hit : result.hits) keys.push_back(key_of(result, hit));
  return keys;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const SearchResult& a, const SearchResult& b) {
  return a.mode == b.mode && keys_of(a) == keys_of(b) && a.terms == b.terms && a.matched == b.matched &&
         std::equal(a.hits.begin(), a.hits.end(), b.hits.begin(), b.hits.end(),
                    [](const Hit& x, const Hit& y) {
                      return x.score == y.score && same_number(x.bm25, y.bm25) &&
                             same_number(x.similarity, y.similarity) && same_number(x.coverage, y.coverage) &&
                             x.lexical_rank == y.lexical_rank && x.vector_rank == y.vector_rank;
                    });
}

}  // namespace

TEST(engine_search_equals_its_model) {
  Collection c(300);
  for (int round = 0; round < 200; ++round) {
    const std::string text = c.words(1 + c.random() % 5);
    const std::vector<float> vector = c.any_vector();
    SearchRequest request;
    if (round % 4 != 1) request.text = text;
    if (round % 4 != 2) request.vector = vector;
    request.scope = c.scopes[c.random() % c.scopes.size()].get();
    request.k = 1 + c.random() % 40;
    request.recall = 1.0;
    if (round % 3 == 0) request.lexical_candidates = request.k + c.random() % 200;
    if (round % 3 != 1) request.vector_candidates = request.k + c.random() % 200;
    RankingOptions ranking = plain_fusion();
    request.ranking = &ranking;
    if (round % 5 == 0) ranking.fusion.vector_weight = 0.25;
    CHECK_EQ(difference_of_search(*c.engine, *c.model, request), "");
  }
}

TEST(engine_search_batch_equals_searches_one_by_one) {
  Collection c(200);
  std::vector<std::string> texts;
  std::vector<std::vector<float>> vectors;
  for (int i = 0; i < 60; ++i) {
    texts.push_back(c.words(1 + c.random() % 4));
    vectors.push_back(c.any_vector());
  }
  std::vector<SearchRequest> requests(60);
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i % 3 != 0) requests[i].text = texts[i];
    if (i % 3 != 1) requests[i].vector = vectors[i];
    requests[i].scope = c.scopes[i % c.scopes.size()].get();
    requests[i].k = 1 + i % 12;
    requests[i].explain = i % 2 == 0;
  }
  for (const unsigned n_threads : {0u, 1u, 2u, 5u, 100u}) {
    const std::vector<SearchResult> results = c.engine->search_batch(requests, n_threads);
    CHECK_EQ(results.size(), requests.size());
    for (size_t i = 0; i < results.size(); ++i) CHECK(same(results[i], c.engine->search(requests[i])));
  }
  CHECK(c.engine->search_batch({}, 3).empty());
}

// With explain, every hit has all its scores, whichever ranking it came from.
TEST(engine_explains_every_hit) {
  Collection c(200);
  for (int round = 0; round < 50; ++round) {
    const std::string text = c.words(1 + c.random() % 4) + " neverseen TS-999";
    const std::vector<float> vector = c.any_vector();
    SearchRequest request;
    request.text = text;
    request.vector = vector;
    request.scope = c.scopes[c.random() % c.scopes.size()].get();
    request.k = 30;
    request.lexical_candidates = request.vector_candidates = 12;
    request.explain = true;
    request.recall = 1.0;
    const SearchResult result = c.engine->search(request);
    const std::vector<Model::Ranked> lexical = c.model->rank_lexically(*request.scope, text);
    CHECK_EQ(result.matched.size(), result.hits.size());
    for (size_t i = 0; i < result.hits.size(); ++i) {
      const Hit& hit = result.hits[i];
      const Model::Key key = key_of(result, hit);
      const Model::Document& document = c.model->documents().at(key);
      const auto ranked =
          std::find_if(lexical.begin(), lexical.end(), [&](const Model::Ranked& r) { return r.key == key; });
      CHECK(ranked == lexical.end() ? std::isnan(hit.bm25) : hit.bm25 == ranked->score);
      CHECK_EQ(std::isnan(hit.similarity), document.vector.empty());
      if (!document.vector.empty())
        CHECK(std::fabs(hit.similarity - c.model->similarity(vector, key)) <=
              c.model->tolerance(vector, key));
      std::vector<uint32_t> matched;
      for (uint32_t t = 0; t < result.terms.size(); ++t) {
        if (document.tfs.contains(result.terms[t])) matched.push_back(t);
      }
      CHECK_EQ(result.matched[i], matched);
    }
  }
}

TEST(engine_coverage_counts_distinct_words_of_the_query) {
  Engine engine({});
  const std::string texts[] = {"tea and trains", "tea", "TS-999 trains", "nothing of it"};
  for (int64_t id = 0; id < 4; ++id) {
    const DocumentInput input{Id::of(id), texts[id], std::nullopt, kScope, {}};
    CHECK_EQ(engine.upsert({&input, 1}), 1);
  }
  SearchRequest request;
  request.text = "tea tea trains TS-999";  // tea, train, and the parts ts and 999
  request.scope = kScope.get();
  request.explain = true;
  const SearchResult result = engine.search(request);
  CHECK_EQ(result.hits.size(), 3);
  for (const Hit& hit : result.hits) {
    const int64_t id = id_of(result, hit);
    CHECK(hit.coverage == (id == 0 ? 0.5 : id == 1 ? 0.25 : 0.75));
  }
  request.explain = false;
  for (const Hit& hit : engine.search(request).hits) CHECK(std::isnan(hit.coverage));
}

TEST(engine_fuses_rankings_of_the_caller) {
  Collection c(60);
  const Scope& from = *c.scopes[3];
  std::vector<Model::Key> visible;
  std::vector<DocumentKey> of_visible, of_hidden;
  for (const auto& [key, document] : c.model->documents()) {
    const DocumentKey named{document.scope.get(), Id::of(key.id)};
    if (Model::visible_rank(from, *document.scope) >= 0) {
      visible.push_back(key);
      of_visible.push_back(named);
    } else {
      of_hidden.push_back(named);
    }
  }
  CHECK(visible.size() > 10 && !of_hidden.empty());
  const DocumentKey unknown{nullptr, Id::of(int64_t{99'999})};
  const std::vector<std::vector<DocumentKey>> rankings{
      {of_visible[5], of_hidden[0], unknown, of_visible[2], of_visible[5]}, {of_visible[2]}, {}};
  SearchRequest request;
  request.scope = &from;
  request.rankings = rankings;
  request.lexical = request.semantic = false;
  const SearchResult alone = c.engine->search(request);
  CHECK(keys_of(alone) ==
        std::vector<Model::Key>{visible[2], visible[5]});  // invisible documents are skipped
  CHECK(alone.hits[0].score == 1.0 / 62 + 1.0 / 61);
  CHECK(alone.hits[1].score == 1.0 / 61);
  CHECK_EQ(alone.hits[0].lexical_rank, 0);

  request.lexical = true;
  request.text = "tea train";
  request.k = 1000;
  const std::vector<Model::Ranked> lexical = c.model->rank_lexically(from, *request.text);
  std::map<Model::Key, double> expected;
  for (size_t i = 0; i < lexical.size(); ++i)
    expected[lexical[i].key] += 1.0 / (60.0 + static_cast<double>(i + 1));
  expected[visible[5]] += 1.0 / 61;
  expected[visible[2]] += 1.0 / 62;
  expected[visible[2]] += 1.0 / 61;
  const SearchResult both = c.engine->search(request);
  CHECK_EQ(both.hits.size(), expected.size());
  for (const Hit& hit : both.hits) CHECK(hit.score == expected.at(key_of(both, hit)));
}

TEST(engine_modes_say_what_ran) {
  Collection c(20);
  const std::vector<float> vector{1, 0, 0, 0};
  SearchRequest request;
  request.scope = kScope.get();
  CHECK(c.engine->search(request).mode == Mode::none);
  request.text = "tea";
  CHECK(c.engine->search(request).mode == Mode::lexical);
  request.vector = vector;
  CHECK(c.engine->search(request).mode == Mode::hybrid);
  request.semantic = false;
  CHECK(c.engine->search(request).mode == Mode::lexical);
  request.semantic = true;
  request.lexical = false;
  CHECK(c.engine->search(request).mode == Mode::vector);
  request.lexical = true;
  for (const char* text :
       {"", " .,- ", "\xff", "neverseen"}) {  // no term, or none that occurs: only the other arm counts
    request.text = text;
    const SearchResult result = c.engine->search(request);
    CHECK(result.mode == Mode::hybrid);
    for (const Hit& hit : result.hits) CHECK(hit.lexical_rank == 0 && hit.vector_rank != 0);
  }
}

TEST(engine_takes_any_number_of_wanted_hits) {
  Collection c(100);
  const std::vector<float> vector{1, 2, 3, 4};
  SearchRequest request;
  request.text = "tea train the";
  request.scope = c.scopes[3].get();
  const size_t n_matches = c.model->rank_lexically(*request.scope, *request.text).size();
  for (const size_t k : {size_t{1}, n_matches - 1, n_matches, n_matches + 1, size_t{1} << 40, SIZE_MAX}) {
    request.k = k;
    CHECK_EQ(c.engine->search(request).hits.size(), std::min(k, n_matches));
  }
  request.vector = vector;
  for (const size_t candidates : {size_t{1}, size_t{1} << 40, SIZE_MAX}) {
    request.lexical_candidates = request.vector_candidates = candidates;
    CHECK(c.engine->search(request).hits.size() <= c.model->count(request.scope));
  }
}

TEST(empty_engine_finds_nothing) {
  Engine engine({});
  const std::vector<float> vector{1, 2};
  SearchRequest request;
  request.text = "tea";
  request.vector = vector;  // no dimension is fixed yet
  request.scope = kScope.get();
  CHECK(engine.search(request).hits.empty());
  CHECK_EQ(engine.count(nullptr), 0);
  CHECK_EQ(engine.count(kScope.get()), 0);
  CHECK_EQ(engine.compact(), 0);
  CHECK_EQ(engine.erase(*kScope, false), 0);
  CHECK_EQ(engine.build_graphs(1), 0);
  CHECK_EQ(engine.upsert({}), 0);
  CHECK_EQ(engine.remove({}), 0);
  CHECK_EQ(engine.stats(kScope.get()).n_docs, 0);
}

// A result owns its data: deletions, compaction and the destruction of the engine do not affect it.
TEST(engine_results_outlive_what_happens_after_them) {
  auto c = std::make_unique<Collection>(50, 3);
  SearchRequest request;
  request.text = "tea train the deploy";
  request.scope = c->scopes[3].get();
  request.k = 100;
  const SearchResult result = c->engine->search(request);
  CHECK(!result.hits.empty());
  std::vector<std::string> texts;
  for (const Hit& hit : result.hits) texts.push_back(c->model->documents().at(key_of(result, hit)).text);
  const Model::Key first = key_of(result, result.hits[0]);
  const std::optional<StoredDocument> stored =
      c->engine->get(Id::of(first.id), *c->model->documents().at(first).scope);
  const auto check_texts = [&] {
    const base::EpochGuard guard;
    for (size_t i = 0; i < texts.size(); ++i)
      CHECK_EQ(result.chunk_of(result.hits[i]).text(result.hits[i].offset), texts[i]);
    CHECK_EQ(stored->chunk->text(stored->offset), texts[0]);
  };
  const Scope everything("acme", kNone, kNone);
  std::vector<std::pair<int64_t, ScopeRef>> written;
  for (const auto& [key, document] : c->model->documents()) written.emplace_back(key.id, document.scope);
  for (const auto& [id, scope] : written) {
    if (scope->tenant() == "acme") c->write(id, scope);
  }
  check_texts();
  CHECK(c->engine->compact() > 0);
  check_texts();
  CHECK(c->engine->erase(everything, false) > 0);
  base::collect_retired();
  check_texts();
  c.reset();
  base::collect_retired();
  check_texts();
}

// Long documents and long queries: length codes beyond the exact range, and scores with fewer bits.
TEST(engine_handles_long_texts) {
  Collection c(20);
  std::string longest;
  for (int i = 0; i < 150'000; ++i) longest.append(kWords[i % 7]).append(i % 3 ? " " : " filler ");
  for (const size_t n : {size_t{6000}, size_t{9000}, size_t{60'000}, longest.size()}) {
    const std::string text = longest.substr(0, n);
    const auto id = static_cast<int64_t>(1000 + n);
    const DocumentInput input{Id::of(id), text, std::nullopt, kScope, {}};
    CHECK_EQ(c.engine->upsert({&input, 1}), 1);
    c.model->upsert(input);
    SearchRequest request;
    request.text = "filler python tea";
    request.scope = kScope.get();
    CHECK_EQ(difference_of_search(*c.engine, *c.model, request), "");
    request.text = text;  // the document as a query
    CHECK_EQ(difference_of_search(*c.engine, *c.model, request), "");
  }
}

// Ids of any length, some a prefix of another, with bytes that no text would contain.
TEST(engine_string_ids_are_kept_apart) {
  EngineOptions options;
  options.chunk_docs = 3;
  Engine engine(options);
  std::map<std::string, std::string> model;
  std::vector<std::string> ids{
      "a", "aa", std::string("a\0", 2), std::string("\0", 1), "\xff\xfe", std::string(300, 'a')};
  for (int i = 0; i < 40; ++i) ids.push_back("id-" + std::to_string(i));
  std::mt19937 random(4);
  for (int step = 0; step < 2000; ++step) {
    const std::string& name = ids[random() % ids.size()];
    const Id id = Id::of(std::string_view(name));
    if (random() % 3 == 0) {
      const DocumentKey key{kScope.get(), id};
      CHECK_EQ(engine.remove({&key, 1}), model.erase(name));
    } else {
      const std::string text = "text" + std::to_string(step);
      const DocumentInput input{id, text, std::nullopt, kScope, {}};
      CHECK_EQ(engine.upsert({&input, 1}), 1);
      model[name] = text;
    }
    if (step % 300 == 299) static_cast<void>(engine.compact());
    if (step % 50 != 0) continue;
    CHECK_EQ(engine.count(nullptr), model.size());
    const base::EpochGuard guard;
    for (const std::string& each : ids) {
      const auto stored = engine.get(Id::of(std::string_view(each)), *kScope);
      const auto known = model.find(each);
      CHECK_EQ(stored.has_value(), known != model.end());
      if (!stored || known == model.end()) continue;
      CHECK_EQ(stored->chunk->text(stored->offset), known->second);
      CHECK(stored->chunk->id(stored->offset) == Id::of(std::string_view(each)));
    }
  }
}
