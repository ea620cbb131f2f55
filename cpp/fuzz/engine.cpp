// Reads the input as a script of writes and searches and holds the engine to a map: what was written is
// found, what was deleted is gone, scopes keep apart, scores descend. Texts and queries are whatever bytes
// come.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "engine/engine.hpp"

namespace {

using namespace scrubjay::engine;

void require(bool held) {
  if (!held) std::abort();
}

// Takes bytes from the front of the input; zeros once it is used up.
struct Script {
  std::string_view rest;

  uint8_t byte() {
    if (rest.empty()) return 0;
    const auto first = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    return first;
  }
  std::string_view piece() {
    const std::string_view taken = rest.substr(0, byte() % 64);
    rest.remove_prefix(std::min(rest.size(), taken.size()));
    return taken;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script{{reinterpret_cast<const char*>(data), size}};
  EngineOptions options;
  options.chunk_docs = 1 + script.byte() % 8;
  Engine engine(options);
  const ScopeRef scopes[] = {std::make_shared<Scope>("a", std::nullopt, std::nullopt),
                             std::make_shared<Scope>("a", "u", std::nullopt),
                             std::make_shared<Scope>("a", std::nullopt, "g"),
                             std::make_shared<Scope>("b", "u", "g")};
  std::map<int64_t, ScopeRef> alive;
  for (int step = 0; step < 64 && !script.rest.empty(); ++step) {
    const uint8_t action = script.byte();
    const int64_t number = script.byte() % 16;
    const Id id = Id::of(number);
    const ScopeRef& scope = scopes[script.byte() % 4];
    switch (action % 8) {
      case 0:
      case 1:
      case 2: {
        const float vector[] = {static_cast<float>(script.byte()), static_cast<float>(script.byte()) - 128.0F,
                                1.0F};
        const DocumentInput document{id, script.piece(), std::nullopt, scope, vector};
        const auto known = alive.find(number);
        try {
          static_cast<void>(engine.upsert({&document, 1}));
          require(known == alive.end() || *known->second == *scope);
          alive[number] = scope;
        } catch (const scrubjay::base::Conflict&) {
          require(known != alive.end() && !(*known->second == *scope));
        }
        break;
      }
      case 3:
        require(engine.remove({&id, 1}) == alive.erase(number));
        break;
      case 4:
        require(engine.erase(*scope, true) ==
                std::erase_if(alive, [&](const auto& entry) { return *entry.second == *scope; }));
        break;
      case 5:
        static_cast<void>(engine.compact());
        break;
      default: {
        const float vector[] = {1.0F, static_cast<float>(script.byte()) - 128.0F, 0.5F};
        SearchRequest request;
        if (action & 8) request.vector = vector;
        if (request.vector.empty() || action & 16) request.text = script.piece();
        request.scope = scope.get();
        request.k = 1 + script.byte() % 20;
        request.explain = (action & 32) != 0;
        const SearchResult result = engine.search(request);
        require(result.hits.size() <= request.k);
        double previous = std::numeric_limits<double>::infinity();
        for (const Hit& hit : result.hits) {
          const Chunk& chunk = result.chunk_of(hit);
          const auto known = alive.find(chunk.id(hit.offset).integer);
          require(known != alive.end() && *known->second == *chunk.scope());
          require(hit.score <= previous);
          previous = hit.score;
        }
        // A search by vector alone sees all that may be seen.
        if (!request.text) require(result.hits.size() == std::min(request.k, engine.count(scope.get())));
        break;
      }
    }
    require(engine.count(nullptr) == alive.size());
    require(engine.get(id).has_value() == alive.contains(number));
  }
  return 0;
}
