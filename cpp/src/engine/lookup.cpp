// Substring search, the fallback of a search, and generations, for caches of searches.

#include <algorithm>
#include <string>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "engine/engine.hpp"

namespace scrubjay::engine {
namespace {

char lowered(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool holds_part(std::string_view text, std::string_view lowered_part) {
  return std::search(text.begin(), text.end(), lowered_part.begin(), lowered_part.end(),
                     [](char a, char b) { return lowered(a) == b; }) != text.end();
}

}  // namespace

uint64_t Engine::generation(const Scope& scope) const {
  const base::EpochGuard guard;
  uint64_t generation = 0xcbf29ce484222325ull;
  const auto mix = [&](uint64_t value) {
    generation = (generation ^ value) * 0x9e3779b97f4a7c15ull;
    generation ^= generation >> 32;
  };
  for (const Scope::Visible* visible = scope.visible_begin(); visible != scope.visible_end(); ++visible) {
    const Partition* partition = partitions_.find(visible->key, visible->hash);
    mix(partition ? partition->serial() : 0);
    mix(partition ? partition->version() : 0);
  }
  return generation;
}

SearchResult Engine::find_substring(std::string_view part, const Scope& scope, size_t k) const {
  if (k == 0) throw base::InvalidArgument("k: expected a number >= 1, got 0");
  if (part.empty()) throw base::InvalidArgument("text: expected a non-empty text, got ''");
  std::string wanted(part);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), lowered);
  const base::EpochGuard guard;
  SearchResult result;
  result.mode = Mode::substring;
  for (const Scope::Visible* visible = scope.visible_begin(); visible != scope.visible_end(); ++visible) {
    const Partition* partition = partitions_.find(visible->key, visible->hash);
    if (!partition) continue;
    std::vector<ChunkSnapshot> chunks;
    partition->read_consistently([&] {
      chunks.clear();
      for (const ChunkRef& chunk : partition->chunks()) chunks.push_back(chunk->snapshot());
    });
    for (const ChunkSnapshot& chunk : chunks) {
      bool referenced = false;
      for (uint32_t offset = 0; offset < chunk.n_docs; ++offset) {
        base::interruption_point();
        if (chunk.dead && chunk.dead->test(offset)) continue;
        const std::string_view text = chunk.chunk->text(offset);
        if (!holds_part(text, wanted)) continue;
        if (!referenced) result.chunks.emplace_back(chunk.chunk);
        referenced = true;
        Hit& hit = result.hits.emplace_back();
        hit.chunk = static_cast<uint32_t>(result.chunks.size() - 1);
        hit.offset = offset;
        hit.score = static_cast<double>(wanted.size()) / static_cast<double>(text.size());
      }
    }
  }
  std::stable_sort(result.hits.begin(), result.hits.end(),
                   [](const Hit& a, const Hit& b) { return a.score > b.score; });
  if (result.hits.size() > k) result.hits.resize(k);
  return result;
}

}  // namespace scrubjay::engine
