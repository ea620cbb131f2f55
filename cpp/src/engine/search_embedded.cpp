// A search whose text is embedded on the searching thread.
#include <array>

#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "engine/spelling.hpp"

namespace scrubjay::engine {

SearchResult Engine::search_embedded(const SearchRequest& request, size_t row) const {
  const embed::StaticEmbedder& embedder = *request.embedder;
  if (dim() != 0 && dim() != embedder.dim()) {
    throw base::InvalidArgument("embedder: expected one of " + std::to_string(dim()) +
                                " dimensions like the vectors, got " + std::to_string(embedder.dim()));
  }
  alignas(64) std::array<float, vector::kMaxDim> elements;  // on the stack, since a stemmer may search, too
  const std::span<float> vector = std::span(elements).first(embedder.dim());
  const bool has_vector = embedder.embed(*request.text, vector);
  SearchRequest embedded = request;
  embedded.embedder = nullptr;
  embedded.static_cosines = has_vector && options_.metric == vector::Metric::cosine;
  if (has_vector) {
    embedded.vector = vector;
  } else {
    embedded.lexical = true;  // a text without a direction may still have words
  }
  SearchResult result = search_row(embedded, row);
  if (has_vector && !result.corrections.empty()) {
    // The corrected text has another direction than the typed one.
    if (embedder.embed(corrected(*request.text, result.corrections), vector))
      result = search_row(embedded, row);
  }
  result.static_cosines = embedded.static_cosines;
  result.nothing_embedded = !has_vector;
  return result;
}

}  // namespace scrubjay::engine
