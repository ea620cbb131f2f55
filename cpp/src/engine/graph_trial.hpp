// Graph trial: calibrates the ef that searches of a particular graph need.
//
// How hard vectors are to find by a graph depends on how they lie: in a million around 256 centres a search
// that finds .99 of the nearest among embeddings finds .94. So some of the vectors, moved by half their
// length, are searched for by scan and by graph; what is kept in view grows until the graph finds what it is
// to find. A recall that is asked for is kept, at the price that the data has. It never sinks below the
// usual: what real questions are, a moved vector does not tell (among embeddings it is found with a quarter
// of what they need).
#pragma once

#include <functional>
#include <span>

#include "base/bitmap.hpp"
#include "engine/expansion.hpp"
#include "vector/column.hpp"
#include "vector/graph.hpp"

namespace scrubjay::engine {

// The usual for small graphs and if it was cancelled. Columns, n_docs and what is dead are those that the
// graph was made of. Takes four hundred scans.
[[nodiscard]] ExpansionScales tried(const vector::Graph& graph,
                                    std::span<const vector::Column* const> columns,
                                    std::span<const uint32_t> n_docs, std::span<const base::Bitmap> dead,
                                    const std::function<bool()>& cancelled);

}  // namespace scrubjay::engine
