#include "engine/standing_words.hpp"

#include <algorithm>

#include "base/interruption.hpp"
#include "engine/context.hpp"
#include "text/term_key.hpp"

namespace scrubjay::engine {
namespace {

// The first n bytes, without splitting a character.
std::string_view first_bytes(std::string_view utf8, size_t n) noexcept {
  if (n >= utf8.size()) return utf8;
  while (n > 0 && (static_cast<unsigned char>(utf8[n]) & 0xc0) == 0x80) --n;
  return utf8.substr(0, n);
}

}  // namespace

std::string StandingWords::first_of(std::span<const ChunkSnapshot> chunks, std::string_view term,
                                    const text::SurfaceWords::Wanted& wanted,
                                    const std::function<bool(std::string_view)>& is_meant) {
  const uint64_t key = text::term_key(term);
  size_t docs_left = kMostRead, bytes_left = kMostReadBytes;
  std::string match;
  const auto read = [&](std::string_view text) {
    const std::string_view part = first_bytes(text, bytes_left);
    bytes_left -= std::min(text.size(), bytes_left);
    return words_.visit(part, wanted, [&](std::string_view word) {
      if (!is_meant(word)) return false;
      match = word;
      return true;
    });
  };
  for (const ChunkSnapshot& chunk : chunks) {
    lexical::TermPostings postings;
    chunk.chunk->postings().find(key, term, chunk.n_docs, chunk.dead, postings);
    for (uint32_t i = 0; i < postings.n; ++i) {
      const uint32_t doc = postings.offsets()[i];
      if (chunk.dead && chunk.dead->test(doc)) continue;
      if (docs_left == 0 || bytes_left == 0) return match;
      --docs_left;
      base::interruption_point();
      if (read(chunk.chunk->text(doc))) return match;
      if (read(context_of(chunk.chunk->payload(doc), context_))) return match;
    }
  }
  return match;
}

}  // namespace scrubjay::engine
