#include "embed/byte_pair.hpp"

#include <algorithm>

#include "base/interruption.hpp"
#include "embed/byte_pair_tables.hpp"
#include "text/utf8.hpp"

namespace scrubjay::embed {
namespace {

// Orders candidates: lower rank first, then further left. For the heap functions, which put
// the greatest first.
struct Later {
  bool operator()(const BytePairTokenizer::Scratch::Candidate& a,
                  const BytePairTokenizer::Scratch::Candidate& b) const noexcept {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  }
};

}  // namespace

uint32_t BytePairTokenizer::find_character(char32_t character) const noexcept {
  if (character < 128) return ascii_[character];
  const size_t mask = characters_.size() - 1;
  for (size_t i = character_slot(character, mask);; i = (i + 1) & mask) {
    if (characters_[i].id == kNone || characters_[i].character == character) return characters_[i].id;
  }
}

uint32_t BytePairTokenizer::find_rank(uint32_t left, uint32_t right) const noexcept {
  const uint64_t key = pair_key(left, right);
  const size_t mask = pairs_.size() - 1;
  for (size_t i = pair_slot(key, mask);; i = (i + 1) & mask) {
    if (pairs_[i] == UINT64_MAX) return kNone;
    if (pairs_[i] >> kIdBits == key) return static_cast<uint32_t>(pairs_[i] & ((uint64_t{1} << kIdBits) - 1));
  }
}

// The token whose string is `bytes`, preceded by a marker if `marked`, provided that such a piece becomes
// that token.
uint32_t BytePairTokenizer::find_whole(std::string_view bytes, bool marked) const noexcept {
  const uint64_t hash = hash_piece(bytes, marked);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = wholes_.size() - 1;
  for (size_t i = static_cast<size_t>(hash) & mask;; i = (i + 1) & mask) {
    if (wholes_[i].id == kNone) return kNone;
    if (wholes_[i].tag != tag) continue;
    const std::string_view string = token(wholes_[i].id);
    const std::string_view rest = marked && string.starts_with(kMarkerBytes) ? string.substr(3) : string;
    if (marked == (rest.size() != string.size()) && rest == bytes) return wholes_[i].id;
  }
}

unsigned BytePairTokenizer::class_of(char32_t character) const noexcept {
  if (character == U' ' || character == U'\u2581') return kMarker;
  if (find_character(character) == kNone) return kUnknown;
  return character < 128 ? static_cast<unsigned>(character) : kOther;
}

template <class Part>
void BytePairTokenizer::for_each_part(std::string_view text, std::vector<uint32_t>& out, Part&& part) const {
  size_t begin = 0;
  const auto next_candidate = [&](size_t from) {
    if (added_first_.empty()) return std::string_view::npos;
    return added_first_.size() == 1 ? text.find(added_first_[0], from)
                                    : text.find_first_of(added_first_, from);
  };
  for (size_t at = next_candidate(0); at != std::string_view::npos; at = next_candidate(at)) {
    const auto match = std::find_if(added_.begin(), added_.end(), [&](const AddedToken& token) {
      return text.substr(at).starts_with(token.content);
    });
    if (match == added_.end()) {
      ++at;
      continue;
    }
    if (at > begin) part(text.substr(begin, at - begin));
    out.push_back(match->id);
    begin = at = at + match->content.size();
  }
  if (begin < text.size()) part(text.substr(begin));
}

void BytePairTokenizer::tokenize(std::string_view text, Scratch& scratch, std::vector<uint32_t>& out) const {
  for_each_part(text, out, [&](std::string_view part) { tokenize_part(part, scratch, out); });
}

void BytePairTokenizer::tokenize_part(std::string_view part, Scratch& scratch,
                                      std::vector<uint32_t>& out) const {
  bool marked = true;
  size_t begin = 0;
  unsigned left = kMarker;
  constexpr size_t kBytesALook = size_t{1} << 14;
  size_t next_look = kBytesALook;
  for (size_t at = 0; at < part.size();) {
    const auto lead = static_cast<unsigned char>(part[at]);
    unsigned right = lead;
    size_t length = 1;
    if (lead == ' ') {
      right = kMarker;
    } else if (lead >= 0x80) {
      right = class_of(text::decode_utf8(part, at));
      length = text::utf8_length(lead);
    }
    if (!joins(left, right)) {
      if (at >= next_look) {
        base::interruption_point();
        next_look = at + kBytesALook;
      }
      if (marked || at > begin) tokenize_piece(part.substr(begin, at - begin), marked, scratch, out);
      marked = false;
      begin = at;
    }
    left = right;
    at += length;
  }
  tokenize_piece(part.substr(begin), marked, scratch, out);
}

void BytePairTokenizer::tokenize_piece(std::string_view bytes, bool marked, Scratch& scratch,
                                       std::vector<uint32_t>& out) const {
  if (!marked && bytes[0] == ' ') {
    marked = true;
    bytes.remove_prefix(1);
  } else if (!marked && bytes.starts_with(kMarkerBytes)) {
    marked = true;
    bytes.remove_prefix(3);
  }
  if (const uint32_t whole = find_whole(bytes, marked); whole != kNone) {
    out.push_back(whole);
    return;
  }
  scratch.symbols.clear();
  split(bytes, marked, scratch.symbols);
  if (scratch.symbols.size() <= kFew) {
    merge_few(scratch, out);
  } else {
    merge_many(scratch, out);
  }
}

void BytePairTokenizer::split(std::string_view bytes, bool marked, std::vector<uint32_t>& symbols) const {
  const auto add = [&](char32_t character, std::string_view encoded) {
    const uint32_t id = find_character(character);
    if (id != kNone) {
      symbols.push_back(id);
    } else {
      for (const char byte : encoded) symbols.push_back(bytes_[static_cast<unsigned char>(byte)]);
    }
  };
  if (marked) add(U'\u2581', kMarkerBytes);
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = text::utf8_length(static_cast<unsigned char>(bytes[at]));
    if (bytes[at] == ' ') {
      add(U'\u2581', kMarkerBytes);
    } else {
      add(text::decode_utf8(bytes, at), bytes.substr(at, length));
    }
    at += length;
  }
}

void BytePairTokenizer::merge_few(Scratch& scratch, std::vector<uint32_t>& out) const {
  std::vector<uint32_t>& symbols = scratch.symbols;
  std::array<uint32_t, kFew> ranks;  // of each symbol with the next one
  size_t n = symbols.size();
  for (size_t i = 0; i + 1 < n; ++i) ranks[i] = find_rank(symbols[i], symbols[i + 1]);
  while (n > 1) {
    const auto* best = std::min_element(ranks.begin(), ranks.begin() + (n - 1));  // the first of equals
    if (*best == kNone) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = merges_[*best].merged;
    std::copy(symbols.begin() + static_cast<ptrdiff_t>(at) + 2, symbols.begin() + static_cast<ptrdiff_t>(n),
              symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    --n;
    if (at + 1 < n) {
      std::copy(ranks.begin() + at + 2, ranks.begin() + n, ranks.begin() + at + 1);
      ranks[at] = find_rank(symbols[at], symbols[at + 1]);
    }
    if (at > 0) ranks[at - 1] = find_rank(symbols[at - 1], symbols[at]);
  }
  out.insert(out.end(), symbols.begin(), symbols.begin() + static_cast<ptrdiff_t>(n));
}

// The same with a queue of candidates. A candidate whose symbols have been merged otherwise since is skipped:
// the symbol at a position only grows, so it cannot become the candidate's again.
void BytePairTokenizer::merge_many(Scratch& scratch, std::vector<uint32_t>& out) const {
  const auto n = static_cast<uint32_t>(scratch.symbols.size());
  std::vector<Scratch::Symbol>& chain = scratch.chain;
  std::vector<Scratch::Candidate>& queue = scratch.queue;
  chain.clear();
  queue.clear();
  for (uint32_t i = 0; i < n; ++i)
    chain.push_back({scratch.symbols[i], i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1, false});
  const auto candidate = [&](uint32_t at) {
    const uint32_t rank = find_rank(chain[at].token, chain[chain[at].next].token);
    if (rank != kNone) queue.push_back({rank, at});
    return rank != kNone;
  };
  for (uint32_t i = 0; i + 1 < n; ++i) candidate(i);
  std::make_heap(queue.begin(), queue.end(), Later{});
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), Later{});
    if (queue.size() % 1024 == 0) base::interruption_point();
    const Scratch::Candidate best = queue.back();
    queue.pop_back();
    Scratch::Symbol& left = chain[best.at];
    if (left.gone || left.next == kNone || find_rank(left.token, chain[left.next].token) != best.rank)
      continue;
    left.token = merges_[best.rank].merged;
    chain[left.next].gone = true;
    left.next = chain[left.next].next;
    if (left.next != kNone) {
      chain[left.next].previous = best.at;
      if (candidate(best.at)) std::push_heap(queue.begin(), queue.end(), Later{});
    }
    if (left.previous != kNone && candidate(left.previous))
      std::push_heap(queue.begin(), queue.end(), Later{});
  }
  for (uint32_t i = 0; i != kNone; i = chain[i].next) out.push_back(chain[i].token);
}

void BytePairTokenizer::tokenize_plainly(std::string_view text, std::vector<uint32_t>& out) const {
  for_each_part(text, out, [&](std::string_view part) {
    std::vector<uint32_t> symbols;
    split(part, true, symbols);
    for (;;) {
      uint32_t best = kNone;
      size_t at = 0;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const uint32_t rank = find_rank(symbols[i], symbols[i + 1]);
        if (rank < best) {
          best = rank;
          at = i;
        }
      }
      if (best == kNone) break;
      symbols[at] = merges_[best].merged;
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    }
    out.insert(out.end(), symbols.begin(), symbols.end());
  });
}

}  // namespace scrubjay::embed
