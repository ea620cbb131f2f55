// Reads arbitrary bytes as the image of a chunk, or as that of a graph beside one. With the checksum and the
// sizes put right, so that the values behind them are reached: whatever comes, it is refused or it is a chunk
// that can be searched, written to and saved again; a graph is left aside, or it can be searched and extended
// and finds nothing twice.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/image_bytes.hpp"

namespace {

using namespace scrubjay;
using engine::Engine;
using engine::Id;
using engine::Scope;

// The offsets of image.cpp's header.
constexpr size_t kHeaderBytes = 64, kBodyBytes = 48, kChecksum = 56;

std::string repaired(std::string image) {
  if (image.size() < kHeaderBytes) return image;
  std::memcpy(image.data(), "SJCHUNK\n\1\0\0\0", 12);
  const uint64_t analyzer = base::hash64("english-1");
  std::memcpy(image.data() + 16, &analyzer, 8);
  const uint64_t body = image.size() - kHeaderBytes;
  std::memcpy(image.data() + kBodyBytes, &body, 8);
  std::memset(image.data() + kChecksum, 0, 8);
  const std::string_view all = image;
  const uint64_t sum =
      engine::checksum(all.substr(kHeaderBytes), engine::checksum(all.substr(0, kHeaderBytes), 0));
  std::memcpy(image.data() + kChecksum, &sum, 8);
  return image;
}

// A valid image, as a start that random changes stay close to.
std::string seed_image(const std::shared_ptr<const Scope>& scope) {
  Engine engine({});
  const float vector[] = {1.0f, -2.0f, 3.0f};
  for (int64_t i = 0; i < 8; ++i) {
    const engine::DocumentInput document{Id::of(i), "oak jay internationalization sk-stg-0041", "payload",
                                         scope, vector};
    static_cast<void>(engine.upsert({&document, 1}));
  }
  return engine.save_partition(*scope).front();
}

void use(Engine& engine, const std::shared_ptr<const Scope>& scope) {
  const float query[] = {1.0f, 2.0f, 3.0f};
  engine::SearchRequest request;
  request.text = "oak jay internationalization";
  if (engine.dim() == 3) request.vector = query;
  request.scope = scope.get();
  request.explain = true;
  static_cast<void>(engine.search(request));
  static_cast<void>(engine.digest(*scope));
  const engine::DocumentInput more{Id::of(int64_t{99}), "oak again", std::nullopt, scope, {}};
  if (engine.id_kind() == engine::IdKind::integer) {
    static_cast<void>(engine.upsert({&more, 1}));
    if (engine.remove({&more.id, 1}) != 1) std::abort();
  }
  const auto images = engine.save_partition(*scope);
  Engine again({});
  const std::string_view view = images.front();
  if (again.load_partition(scope, {&view, 1}) != engine.count(nullptr)) std::abort();
}

// ---------------------------------------------------------------- graphs

constexpr size_t kGraphGeneration = 16, kGraphChecksum = 56;  // the offsets of graph_image.cpp's header
constexpr uint32_t kGraphChunk = 24;                          // documents, so that a chunk is soon full

engine::EngineOptions graph_options() {
  engine::EngineOptions options;
  options.chunk_docs = kGraphChunk;
  options.vector_plan = engine::VectorPlan::graph;
  return options;
}

int64_t add_vectors(Engine& engine, const std::shared_ptr<const Scope>& scope, int64_t first, int64_t n) {
  for (int64_t i = first; i < first + n; ++i) {
    const float vector[] = {static_cast<float>(i * 7 % 11) - 4.5f, static_cast<float>(i * 5 % 13), 1.0f};
    const engine::DocumentInput document{Id::of(i), "oak", std::nullopt, scope, vector};
    static_cast<void>(engine.upsert({&document, 1}));
  }
  return first + n;
}

// Two full chunks, and the graph over them.
std::vector<std::string> seed_graph(const std::shared_ptr<const Scope>& scope) {
  Engine engine(graph_options());
  add_vectors(engine, scope, 0, 2 * kGraphChunk);
  static_cast<void>(engine.build_graphs(1));
  return engine.save_partition(*scope);
}

std::string repaired_graph(std::string image, const std::vector<std::string_view>& chunks) {
  if (image.size() < kHeaderBytes) image.resize(kHeaderBytes);
  std::memcpy(image.data(), "SJGRAPH\n\1\0\0\0", 12);
  const uint64_t generation = engine::generation_of(chunks);
  std::memcpy(image.data() + kGraphGeneration, &generation, 8);
  std::memset(image.data() + kGraphChecksum, 0, 8);
  const std::string_view all = image;
  const uint64_t sum =
      engine::checksum(all.substr(kHeaderBytes), engine::checksum(all.substr(0, kHeaderBytes), 0));
  std::memcpy(image.data() + kGraphChecksum, &sum, 8);
  return image;
}

void search_all(const Engine& engine, const std::shared_ptr<const Scope>& scope) {
  const float query[] = {1.0f, 2.0f, 3.0f};
  engine::SearchRequest request;
  request.vector = query;
  request.scope = scope.get();
  request.k = 200;
  std::set<int64_t> ids;
  const engine::SearchResult found = engine.search(request);
  for (const engine::Hit& hit : found.hits) ids.insert(found.chunk_of(hit).id(hit.offset).integer);
  if (ids.size() != found.hits.size()) std::abort();
}

void read_graph(const std::uint8_t* data, std::size_t size, const std::shared_ptr<const Scope>& scope) {
  static const std::vector<std::string> seed = seed_graph(scope);
  std::vector<std::string_view> images(seed.begin(), seed.end());
  images.pop_back();
  std::string graph = seed.back();
  for (size_t i = 0; i + 2 < size; i += 3) {
    const size_t at = (data[i] * size_t{256} + data[i + 1]) % graph.size();
    graph[at] = static_cast<char>(data[i + 2]);
  }
  graph = repaired_graph(std::move(graph), images);
  images.push_back(graph);
  Engine engine(graph_options());
  if (engine.load_partition(scope, images) != 2 * kGraphChunk) std::abort();
  search_all(engine, scope);
  if (engine.graph_state(*scope) != engine::GraphState::built) return;
  if (engine.stats(nullptr).n_in_graphs != 2 * kGraphChunk) std::abort();
  add_vectors(engine, scope, 2 * kGraphChunk, 2 * kGraphChunk);
  const Id gone = Id::of(int64_t{3});
  if (engine.remove({&gone, 1}) != 1) std::abort();
  if (engine.build_graphs(1, false) != 1) std::abort();
  if (engine.stats(nullptr).n_in_graphs != 4 * kGraphChunk) std::abort();
  search_all(engine, scope);
  const std::vector<std::string> again = engine.save_partition(*scope);
  Engine other(graph_options());
  if (other.load_partition(scope, std::vector<std::string_view>(again.begin(), again.end())) !=
      engine.count(nullptr))
    std::abort();
  if (other.graph_state(*scope) != engine::GraphState::built) std::abort();
  search_all(other, scope);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto scope = std::make_shared<const Scope>("a", std::nullopt, std::nullopt);
  static const std::string seed = seed_image(scope);
  if (size != 0 && data[0] % 8 == 1) {
    read_graph(data + 1, size - 1, scope);
    return 0;
  }
  std::string image(reinterpret_cast<const char*>(data), size);
  if (size != 0 && data[0] % 2 == 0) {  // else the input is the image; here it changes a valid one
    image = seed;
    for (size_t i = 1; i + 2 < size; i += 3) {
      const size_t at = (data[i] * size_t{256} + data[i + 1]) % image.size();
      image[at] = static_cast<char>(data[i + 2]);
    }
    if (data[0] % 4 == 0) image.resize(image.size() - std::min(image.size(), size % 7));
  }
  image = repaired(std::move(image));
  Engine engine({});
  const std::string_view view = image;
  try {
    static_cast<void>(engine.load_partition(scope, {&view, 1}));
  } catch (const base::Corrupt&) {
    if (engine.count(nullptr) != 0) std::abort();
    return 0;
  }
  use(engine, scope);
  return 0;
}
