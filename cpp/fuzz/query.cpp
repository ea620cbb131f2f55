// Searches a small, fixed engine for arbitrary bytes, in every mode, and compares the results to a
// brute-force model.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../tests/engine_model.hpp"
#include "hostile_text.hpp"

namespace {

using namespace scrubjay::engine;

// Documents of the kinds that queries consist of: prose, identifiers, other scripts, very long
// and empty ones.
struct Prepared {
  EngineOptions options;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Model> model;
  std::vector<ScopeRef> scopes;

  Prepared() {
    options.dim = 2;
    options.chunk_docs = 4;
    engine = std::make_unique<Engine>(options);
    model = std::make_unique<Model>(options);
    const std::optional<std::string_view> none;
    scopes = {std::make_shared<Scope>("acme", none, none), std::make_shared<Scope>("acme", "jane", none),
              std::make_shared<Scope>("acme", none, "bot"), std::make_shared<Scope>("acme", "jane", "bot")};
    std::vector<std::string> texts{
        "sk-stg-0041 is the key of staging",
        "TS-999: deploys fail on Fridays",
        "jane@acme.com prefers tea, not coffee",
        "upgrade to v2.1.3 of src/api/chat.ts",
        "10.0.0.1:80 and snake_case and camelCase",
        "#4711 E0308 C++ C#",
        "running runs generously, don't run",
        "Stra\u00dfe \u0130stanbul \ufb01ne \u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
        "\ud55c\uad6d\uc5b4 \u0e44\u0e17\u0e22\u0e20\u0e32\u0e29\u0e32",
        "a a a a a a a a a a Z 0 9999999999999999999999",
        "",
        "AND OR the of to",
        "\xff\xc3 broken \xe2\x82 bytes"};
    std::string longest;
    for (int i = 0; i < 3000; ++i) longest += "a" + std::to_string(i % 700) + " ";
    texts.push_back(longest);
    texts.emplace_back(300, 'x');
    // Every third id equals that of the previous document: one id in two scopes.
    const auto id_of = [](size_t i) { return Id::of(static_cast<int64_t>(i % 3 == 2 ? i - 1 : i)); };
    for (size_t i = 0; i < 3 * texts.size(); ++i) {
      const float vector[] = {static_cast<float>(i % 5) - 2.0f, 1.0f};
      const std::string text = texts[i % texts.size()] + (i % 3 ? " run " + std::to_string(i) : "");
      const DocumentInput input{id_of(i), text, std::nullopt, scopes[i % 4], vector};
      static_cast<void>(engine->upsert({&input, 1}));
      model->upsert(input);
    }
    for (size_t i = 0; i < 40; i += 7) {
      const DocumentKey removed{scopes[i % 4].get(), id_of(i)};
      static_cast<void>(engine->remove({&removed, 1}));
      static_cast<void>(model->remove(*removed.scope, removed.id.integer));
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Prepared prepared;
  const uint8_t choice = size == 0 ? 0 : data[size - 1];
  const float vector[] = {static_cast<float>(choice) - 128.5f, 1.0f};
  SearchRequest request;
  request.text = std::string_view(reinterpret_cast<const char*>(data), size);
  request.vector = vector;
  request.scope = prepared.scopes[choice % 4].get();
  request.k = 1 + choice % 50;
  request.lexical_candidates = request.vector_candidates = choice % 3 == 0 ? request.k : 0;
  request.explain = choice % 2 == 0;
  const std::string difference = difference_of_search(*prepared.engine, *prepared.model, request);
  if (!difference.empty()) {
    std::fprintf(stderr, "%s\n", difference.c_str());
    std::abort();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return hostile::mutate(data, size, max_size, seed);
}
