// Graph trial: calibrates the ef that searches of a particular graph need.
//
// How hard it is to find a vector in a graph depends on the distribution of the vectors: an ef that reaches a
// recall of .99 among embeddings reaches .94 in a million vectors around 256 centres. The trial therefore
// moves some of the vectors by half their length, searches for them by scan and by graph, and raises ef until
// the graph reaches the recall. A requested recall is thus reached, at the cost that the data demands. The
// result never falls below the default: a moved vector is easier to find than a real query (among embeddings
// it needs a quarter of the ef).
#pragma once

#include <functional>
#include <span>

#include "base/bitmap.hpp"
#include "engine/expansion.hpp"
#include "vector/column.hpp"
#include "vector/graph.hpp"

namespace scrubjay::engine {

// Returns the default for small graphs and if it was cancelled. `columns`, `n_docs` and `dead` are those that
// the graph was built from. Costs four hundred scans.
[[nodiscard]] ExpansionScales tried(const vector::Graph& graph,
                                    std::span<const vector::Column* const> columns,
                                    std::span<const uint32_t> n_docs, std::span<const base::Bitmap> dead,
                                    const std::function<bool()>& cancelled);

}  // namespace scrubjay::engine
