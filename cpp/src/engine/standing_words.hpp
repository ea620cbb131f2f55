// Standing words: which word of a term stands in a document?
//
// Postings know terms, which are stems: that some document holds "eat" does not make "eate" a word. So the texts of the
// documents are read (and their contexts), in their order: of one term kMostRead documents and kMostReadBytes at most.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/chunk.hpp"
#include "text/surface_words.hpp"

namespace scrubjay::engine {

class StandingWords {
 public:
  static constexpr size_t kMostRead = 64, kMostReadBytes = 65536;

  // The first word that is_meant in the first live documents that hold the term; empty if there is none. It has one of
  // the lengths. Under the epoch guard of the snapshot.
  [[nodiscard]] std::string first_of(std::span<const ChunkSnapshot> chunks, std::string_view term,
                                     text::SurfaceWords::Lengths lengths,
                                     const std::function<bool(std::string_view)>& is_meant);

 private:
  text::SurfaceWords words_;
  std::string context_;
};

}  // namespace scrubjay::engine
