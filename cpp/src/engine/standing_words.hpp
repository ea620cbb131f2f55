// Standing words: finds the word form of a term that occurs in a document.
//
// Postings hold terms, which are stems: a document that contains "eat" does not make "eate" a word. The texts
// (and contexts) of the documents with the term are therefore read, in document order, at most kMostRead
// documents and kMostReadBytes for each term.
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
  static constexpr size_t kMostRead = 32, kMostReadBytes = 65536;

  // Returns the first word that is wanted and satisfies is_meant, in the first live documents that contain the
  // term; empty if there is none. Call under the epoch guard of the snapshot.
  [[nodiscard]] std::string first_of(std::span<const ChunkSnapshot> chunks, std::string_view term,
                                     const text::SurfaceWords::Wanted& wanted,
                                     const std::function<bool(std::string_view)>& is_meant);

 private:
  text::SurfaceWords words_;
  std::string context_;
};

}  // namespace scrubjay::engine
