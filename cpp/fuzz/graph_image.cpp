// Reads arbitrary bytes as the graph image beside the images of two chunks, with corrected generation and
// checksum: it is ignored, or it can be searched, extended, searched again, saved and read back, without
// duplicate results.
//
// The last byte selects vectors with or without codes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "engine/engine.hpp"
#include "engine/graph_image.hpp"
#include "engine/image_bytes.hpp"
#include "mutator.hpp"

namespace {

using namespace scrubjay;
using engine::Engine;
using engine::Id;
using engine::Scope;

constexpr size_t kHeaderBytes = 64, kGeneration = 16,
                 kChecksum = 56;     // offsets in graph_image.cpp's header
constexpr uint32_t kChunkDocs = 24;  // so that a chunk is full soon

void expect(bool right) {
  if (!right) std::abort();
}

const std::shared_ptr<const Scope>& scope() {
  static const auto made = std::make_shared<const Scope>("a", std::nullopt, std::nullopt);
  return made;
}

engine::EngineOptions graph_options() {
  engine::EngineOptions options;
  options.chunk_docs = kChunkDocs;
  options.vector_plan = engine::VectorPlan::graph;
  return options;
}

std::vector<float> vector_of(int64_t i, uint32_t dim) {
  std::vector<float> vector(dim);
  for (uint32_t d = 0; d < dim; ++d) vector[d] = static_cast<float>((i * 7 + d * (i % 5 + 3)) % 11) - 4.5f;
  return vector;
}

void add_vectors(Engine& engine, uint32_t dim, int64_t first, int64_t n) {
  for (int64_t i = first; i < first + n; ++i) {
    const std::vector<float> vector = vector_of(i, dim);
    const engine::DocumentInput document{Id::of(i), "oak", std::nullopt, scope(), vector};
    static_cast<void>(engine.upsert({&document, 1}));
  }
}

// Two full chunks, and the graph over them.
struct Seed {
  uint32_t dim;
  std::vector<std::string> images;
  std::string graph;
  std::vector<std::string_view> views;

  explicit Seed(uint32_t of_dim) : dim(of_dim) {
    Engine engine(graph_options());
    add_vectors(engine, dim, 0, 2 * kChunkDocs);
    static_cast<void>(engine.build_graphs(1));
    images = engine.save_partition(*scope());
    graph = images.back();
    images.pop_back();
    views.assign(images.begin(), images.end());
  }
};

const Seed& seed_of(uint8_t choice) {
  static const Seed bare(3), coded(64);
  return choice % 2 != 0 ? coded : bare;
}

void repair(std::string& graph, const Seed& seed) {
  if (graph.size() < kHeaderBytes) graph.resize(kHeaderBytes);
  std::memcpy(graph.data(), "SJGRAPH\n\1\0\0\0", 12);
  const uint64_t generation = engine::generation_of(seed.views);
  std::memcpy(graph.data() + kGeneration, &generation, 8);
  std::memset(graph.data() + kChecksum, 0, 8);
  const std::string_view all = graph;
  const uint64_t sum =
      engine::checksum(all.substr(kHeaderBytes), engine::checksum(all.substr(0, kHeaderBytes), 0));
  std::memcpy(graph.data() + kChecksum, &sum, 8);
}

void search(const Engine& engine, uint32_t dim) {
  for (const size_t k : {size_t{3}, size_t{200}}) {
    const std::vector<float> query = vector_of(static_cast<int64_t>(k), dim);
    engine::SearchRequest request;
    request.vector = query;
    request.scope = scope().get();
    request.k = k;
    std::set<int64_t> ids;
    const engine::SearchResult found = engine.search(request);
    for (const engine::Hit& hit : found.hits) {
      expect(hit.score == hit.score);
      ids.insert(found.chunk_of(hit).id(hit.offset).integer);
    }
    expect(ids.size() == found.hits.size());
    expect(ids.size() <= engine.count(nullptr));
  }
}

std::vector<std::string_view> views_of(const std::vector<std::string>& images) {
  return {images.begin(), images.end()};
}

// An engine with the graph, or without one if the bytes are ignored.
std::unique_ptr<Engine> read(const std::vector<std::string_view>& images, uint64_t n_docs) {
  auto engine = std::make_unique<Engine>(graph_options());
  expect(engine->load_partition(scope(), images) == n_docs);
  return engine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Seed& seed = seed_of(data[size - 1]);
  std::string graph(reinterpret_cast<const char*>(data), size - 1);
  repair(graph, seed);
  std::vector<std::string_view> images = seed.views;
  images.push_back(graph);
  const auto engine = read(images, 2 * kChunkDocs);
  search(*engine, seed.dim);
  if (engine->graph_state(*scope()) == engine::GraphState::none) return 0;
  const uint64_t n_covered = engine->stats(nullptr).n_in_graphs;
  expect(n_covered <= 2 * kChunkDocs);

  // The graph takes in documents written beside it, and deleted ones stay deleted.
  add_vectors(*engine, seed.dim, 2 * kChunkDocs, kChunkDocs + (data[size - 1] / 2 % 2) * kChunkDocs / 2);
  const auto where = scope();
  const engine::DocumentKey gone[] = {{where.get(), Id::of(int64_t{3})},
                                      {where.get(), Id::of(int64_t{2 * kChunkDocs})}};
  expect(engine->remove(gone) == 2);
  search(*engine, seed.dim);
  static_cast<void>(engine->build_graphs(1, false));
  expect(engine->stats(nullptr).n_in_graphs >= n_covered);
  search(*engine, seed.dim);

  const std::vector<std::string> again = engine->save_partition(*scope());
  const auto other = read(views_of(again), engine->count(nullptr));
  search(*other, seed.dim);
  if (engine->graph_state(*scope()) == engine::GraphState::built)  // its second chunk is full
    expect(other->graph_state(*scope()) != engine::GraphState::none);
  add_vectors(*other, seed.dim, 200, kChunkDocs);
  static_cast<void>(other->build_graphs(1, false));
  search(*other, seed.dim);
  return 0;
}

// Changes a valid graph, or an earlier mutation of one: a number at the position of a number, a link to
// another slot, or any bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int chosen) {
  std::minstd_rand random(chosen);
  if (size < kHeaderBytes + 1 || random() % 16 == 0) {
    const auto choice = static_cast<uint8_t>(random());
    const std::string& fresh = seed_of(choice).graph;
    if (fresh.size() < max_size) {
      std::memcpy(data, fresh.data(), fresh.size());
      data[fresh.size()] = choice;
      size = fresh.size() + 1;
    }
  }
  if (random() % 3 == 0 || size <= kHeaderBytes + 8) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else {
    for (auto n = 1 + random() % 4; n != 0; --n) {
      const bool in_header = random() % 4 == 0;
      const size_t at =
          (in_header ? 8 + random() % 48 : kHeaderBytes + random() % (size - kHeaderBytes - 4)) / 4 * 4;
      const auto chunk = static_cast<uint32_t>(random() % 3), doc = static_cast<uint32_t>(random() % 50);
      const uint32_t values[] = {
          0, 1, ~0U, doc, chunk << 16 | doc, static_cast<uint32_t>(random()), 1U << random() % 32};
      const uint32_t value = values[random() % std::size(values)];
      const size_t width = random() % 3 == 0 ? 1 : 4;
      std::memcpy(data + at, &value, std::min(width, size - at));
    }
  }
  if (size == 0) return 0;
  std::string graph(reinterpret_cast<const char*>(data), size - 1);
  const uint8_t choice = data[size - 1];
  repair(graph, seed_of(choice));
  if (graph.size() + 1 > max_size) return size;
  std::memcpy(data, graph.data(), graph.size());
  data[graph.size()] = choice;
  return graph.size() + 1;
}
