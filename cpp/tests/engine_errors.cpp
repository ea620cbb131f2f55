// Every rejection happens before anything has changed.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "check.hpp"
#include "engine_model.hpp"

using namespace scrubjay::engine;
using namespace std::literals;
namespace base = scrubjay::base;

namespace {

const ScopeRef kScope = std::make_shared<Scope>("acme", std::nullopt, std::nullopt);
const ScopeRef kOther = std::make_shared<Scope>("globex", std::nullopt, std::nullopt);
const std::vector<float> kVector{1.0f, 2.0f};

DocumentInput input_of(int64_t id, std::string_view text, std::span<const float> vector = {},
                       const ScopeRef& scope = kScope) {
  return {Id::of(id), text, std::nullopt, scope, vector};
}

// An engine of two documents, and its model.
struct Fixture {
  EngineOptions options;
  std::unique_ptr<Engine> engine;
  Model model;

  Fixture() : engine(std::make_unique<Engine>(options)), model(options) {
    write(input_of(1, "tea in Berlin", kVector));
    write(input_of(2, "coffee"));
  }
  void write(const DocumentInput& input) {
    CHECK_EQ(engine->upsert({&input, 1}), 1);
    model.upsert(input);
  }
  // The second of two documents is invalid.
  template <class Error>
  void refuses(const DocumentInput& bad) {
    const DocumentInput inputs[] = {input_of(3, "never written"), bad};
    CHECK_THROWS(engine->upsert(inputs), Error);
    CHECK_THROWS(engine->upsert({&bad, 1}), Error);
    CHECK_EQ(difference_of_content(*engine, model), "");
    SearchRequest request;
    request.text = "never written tea";
    request.scope = kScope.get();
    CHECK_EQ(difference_of_search(*engine, model, request), "");
  }
  void refuses_search(const SearchRequest& request) {
    CHECK_THROWS(engine->search(request), base::InvalidArgument);
  }
};

std::string message_of(const Engine& engine, const SearchRequest& request) {
  try {
    static_cast<void>(engine.search(request));
  } catch (const base::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST(engine_refuses_wrong_vectors) {
  Fixture f;
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& vector : {std::vector<float>{1.0f},
                                           {1.0f, 2.0f, 3.0f},
                                           {0.0f, 0.0f},
                                           {-0.0f, 0.0f},
                                           {nan, 1.0f},
                                           {1.0f, infinity},
                                           {-infinity, nan}}) {
    f.refuses<base::InvalidArgument>(input_of(4, "text", vector));
    SearchRequest request;
    request.vector = vector;
    request.scope = kScope.get();
    f.refuses_search(request);
  }
}

TEST(engine_refuses_vectors_too_long_for_its_arithmetic) {
  EngineOptions options;
  options.metric = scrubjay::vector::Metric::inner_product;
  Engine engine(options);
  const std::vector<float> large{1e19f, 0.0f}, fits{1e17f, 1.0f};
  const DocumentInput bad = input_of(1, "text", large), good = input_of(1, "text", fits);
  CHECK_THROWS(engine.upsert({&bad, 1}), base::InvalidArgument);
  CHECK_EQ(engine.dim(), 0);
  CHECK_EQ(engine.upsert({&good, 1}), 1);
  const std::vector<float> wide(4097, 1.0f);
  Engine fresh(options);
  const DocumentInput too_wide = input_of(1, "text", wide);
  CHECK_THROWS(fresh.upsert({&too_wide, 1}), base::InvalidArgument);
  CHECK_EQ(fresh.dim(), 0);
}

TEST(engine_refuses_ids_of_the_other_kind) {
  Fixture f;
  DocumentInput bad = input_of(0, "text");
  bad.id = Id::of(std::string_view("three"));
  f.refuses<base::WrongType>(bad);
  const Id known = Id::of(int64_t{1}), other = Id::of(std::string_view("1"));
  const DocumentKey keys[] = {{kScope.get(), known}, {kScope.get(), other}};
  CHECK_THROWS(f.engine->remove(keys), base::WrongType);
  CHECK_THROWS(f.engine->get(other, *kScope), base::WrongType);
  CHECK_THROWS(f.engine->get(other, *kOther), base::WrongType);  // in any scope
  const std::vector<std::vector<DocumentKey>> rankings{{keys[0]}, {{nullptr, other}}};
  SearchRequest request;
  request.text = "tea";
  request.scope = kScope.get();
  request.rankings = rankings;
  CHECK_THROWS(f.engine->search(request), base::WrongType);
  CHECK_EQ(difference_of_content(*f.engine, f.model), "");
}

TEST(engine_settles_the_kind_of_ids_by_the_first_write_only) {
  Engine engine({});
  const std::string longest(65535, 'x'), too_long(65536, 'x');
  for (const std::string_view id : {std::string_view(), std::string_view(too_long)}) {
    DocumentInput bad = input_of(0, "text");
    bad.id = Id::of(id);
    CHECK_THROWS(engine.upsert({&bad, 1}), base::InvalidArgument);
  }
  CHECK(engine.id_kind() == IdKind::unset);
  CHECK(!engine.get(Id::of(int64_t{1}), *kScope).has_value());
  DocumentInput mixed[] = {input_of(1, "text"), input_of(2, "text")};
  mixed[1].id = Id::of(std::string_view("2"));
  CHECK_THROWS(engine.upsert(mixed), base::WrongType);
  CHECK(engine.id_kind() == IdKind::unset);
  DocumentInput good = input_of(0, "text");
  good.id = Id::of(std::string_view(longest));
  CHECK_EQ(engine.upsert({&good, 1}), 1);
  CHECK(engine.id_kind() == IdKind::string);
  CHECK(engine.get(good.id, *kScope).has_value());
}

TEST(engine_refuses_wrong_searches) {
  Fixture f;
  SearchRequest good;
  good.text = "tea";
  good.scope = kScope.get();
  CHECK_EQ(f.engine->search(good).hits.size(), 1);
  SearchRequest bad = good;
  bad.k = 0;
  f.refuses_search(bad);
  for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    RankingOptions ranking = plain_fusion();
    bad = good;
    bad.ranking = &ranking;
    for (double* number : {&ranking.fusion.rrf_k, &ranking.fusion.lexical_weight,
                           &ranking.fusion.vector_weight, &ranking.coverage_weight}) {
      const double right = std::exchange(*number, wrong);
      f.refuses_search(bad);
      *number = right;
    }
  }
  CHECK_EQ(f.engine->search(good).hits.size(), 1);
}

// One invalid request fails the batch and is named.
TEST(engine_search_batch_names_the_bad_row) {
  Fixture f;
  const std::vector<float> bad{1.0f, std::nanf("")};
  std::vector<SearchRequest> requests(3);
  for (SearchRequest& request : requests) {
    request.vector = kVector;
    request.scope = kScope.get();
  }
  requests[1].vector = bad;
  try {
    static_cast<void>(f.engine->search_batch(requests, 2));
    CHECK(false);
  } catch (const base::InvalidArgument& error) {
    CHECK(std::string(error.what()).starts_with("vectors[1]"));
  }
  CHECK(message_of(*f.engine, requests[1]).starts_with("vector:"));
}

TEST(engine_refuses_wrong_options) {
  EngineOptions options;
  options.dim = 4097;
  CHECK_THROWS(Engine(options), base::InvalidArgument);
  for (const scrubjay::lexical::Bm25Parameters& wrong : {scrubjay::lexical::Bm25Parameters{-0.1, 0.75},
                                                         {std::nan(""), 0.75},
                                                         {std::numeric_limits<double>::infinity(), 0.75},
                                                         {1.2, -0.1},
                                                         {1.2, 1.1},
                                                         {1.2, std::nan("")}}) {
    EngineOptions bad;
    bad.bm25 = wrong;
    CHECK_THROWS(Engine(bad), base::InvalidArgument);
  }
  EngineOptions bad;
  bad.analyzer.name = "klingon";
  CHECK_THROWS(Engine(bad), base::InvalidArgument);
}

TEST(engine_scopes_need_names) {
  CHECK_THROWS(Scope("", std::nullopt, std::nullopt), base::InvalidArgument);
  CHECK_THROWS(Scope("t", "", std::nullopt), base::InvalidArgument);
  CHECK_THROWS(Scope("t", std::nullopt, ""), base::InvalidArgument);
  CHECK_THROWS(Scope(std::string(65536, 'x'), std::nullopt, std::nullopt), base::InvalidArgument);
}

// Names that would be equal under a careless separator.
TEST(engine_scopes_of_odd_names_are_different) {
  const std::string_view names[] = {"a"sv, "a\0"sv, "\0a"sv, "a\1"sv, "ab"sv, "b"sv, "\1\1\0\0\0"sv, "aa"sv};
  std::vector<std::unique_ptr<Scope>> scopes;
  for (const std::string_view tenant : {"a"sv, "a\0"sv, "ab"sv}) {
    scopes.push_back(std::make_unique<Scope>(tenant, std::nullopt, std::nullopt));
    for (const std::string_view name : names) {
      scopes.push_back(std::make_unique<Scope>(tenant, name, std::nullopt));
      scopes.push_back(std::make_unique<Scope>(tenant, std::nullopt, name));
      scopes.push_back(std::make_unique<Scope>(tenant, name, "b"));
    }
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    CHECK(scopes[i]->visible_end() - scopes[i]->visible_begin() ==
          (scopes[i]->user() ? 2 : 1) * (scopes[i]->agent() ? 2 : 1));
    for (size_t j = 0; j < scopes.size(); ++j) {
      const bool same = scopes[i]->tenant() == scopes[j]->tenant() &&
                        scopes[i]->user() == scopes[j]->user() && scopes[i]->agent() == scopes[j]->agent();
      CHECK_EQ(*scopes[i] == *scopes[j], same);
    }
  }
}

// Exceptions of a stemmer propagate from every call, and nothing is half written.
TEST(engine_survives_a_stemmer_that_throws) {
  struct Refused {};
  EngineOptions options;
  options.chunk_docs = 3;
  options.analyzer.name = "moody";
  options.analyzer.stemmer = [](std::string_view word) -> std::string {
    if (word == "boom") throw Refused();
    return std::string(word);
  };
  Engine engine(options);
  const auto write = [&](int64_t id, std::string_view text) {
    const DocumentInput input = input_of(id, text);
    return engine.upsert({&input, 1});
  };
  CHECK_EQ(write(1, "tea"), 1);
  for (int i = 0; i < 5; ++i) {
    CHECK_THROWS(write(1, "coffee boom"), Refused);
    CHECK_THROWS(write(2, "boom"), Refused);
  }
  SearchRequest request;
  request.scope = kScope.get();
  request.text = "tea boom";
  CHECK_THROWS(engine.search(request), Refused);
  request.text = "coffee";
  CHECK(engine.search(request).hits.empty());
  request.text = "tea";
  CHECK_EQ(engine.search(request).hits.size(), 1);
  CHECK_EQ(engine.count(nullptr), 1);
  CHECK_EQ(engine.stats(nullptr).n_dead, 0);
  CHECK_EQ(write(1, "coffee"), 1);
  CHECK(engine.search(request).hits.empty());
}

TEST(engine_refuses_a_stemmer_that_calls_back) {
  Engine* called = nullptr;
  int mode = 0;
  EngineOptions options;
  options.analyzer.name = "recursive";
  options.analyzer.stemmer = [&](std::string_view word) {
    const std::string text = "inner";
    const DocumentInput input = input_of(9, text);
    SearchRequest request;
    request.text = text;
    request.scope = kScope.get();
    if (mode == 1) static_cast<void>(called->upsert({&input, 1}));
    if (mode == 2) static_cast<void>(called->search(request));
    return std::string(word);
  };
  Engine engine(options);
  called = &engine;
  const DocumentInput input = input_of(1, "written");
  mode = 1;
  CHECK_THROWS(engine.upsert({&input, 1}), base::Error);
  SearchRequest request;
  request.text = "asked";
  request.scope = kScope.get();
  mode = 2;
  CHECK_THROWS(engine.search(request), base::Error);
  mode = 0;
  CHECK_EQ(engine.count(nullptr), 0);
  CHECK_EQ(engine.upsert({&input, 1}), 1);
  CHECK_EQ(engine.count(nullptr), 1);
}
