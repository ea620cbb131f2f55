#include "text/analyzer.hpp"

#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/errors.hpp"
#include "text/characters.hpp"
#include "text/draft.hpp"
#include "text/runs.hpp"
#include "text/surface_cache.hpp"
#include "text/word_terms.hpp"

namespace scrubjay::text {
namespace {

// Raised whenever the tokens of any text change; an index remembers the name it was built with.
constexpr std::string_view kVersion = "-1";

std::atomic<uint64_t> next_analyzer_number{1};

// Of a raw run, for the surface cache. Never persisted, so base::hash64 may differ.
uint64_t surface_hash(std::string_view surface) noexcept {
  constexpr uint64_t kSecret = 0x9e3779b97f4a7c15ull;
  const char* data = surface.data();
  const size_t n = surface.size();
  const auto load = [data](size_t at, auto word) {
    std::memcpy(&word, data + at, sizeof word);
    return static_cast<uint64_t>(word);
  };
  uint64_t a = 0, b = 0;
  if (n >= 8) {
    uint64_t state = n ^ kSecret;
    for (size_t at = 0; at + 8 < n; at += 8) state = base::mix64(load(at, uint64_t{}) ^ state, kSecret);
    return base::mix64(load(n - 8, uint64_t{}) ^ state, kSecret);
  }
  if (n >= 4) {
    a = load(0, uint32_t{});
    b = load(n - 4, uint32_t{});
  } else {
    a = load(0, uint8_t{}) | load(n / 2, uint8_t{}) << 8 | load(n - 1, uint8_t{}) << 16;
  }
  return base::mix64((a | b << 32) ^ kSecret, n ^ 0xe7037ed1a0b428dbull);
}

// Leading and trailing joiners that mean nothing to the compound rules: dropped here, so that "word." and
// "word" are one surface form. Kept where they may: # and @ before, + and # after, / before a path, _ on both
// sides.
std::string_view trim(std::string_view run) noexcept {
  const auto drops_before = [](char c) { return c == '-' || c == '.' || c == ':' || c == '\'' || c == '+'; };
  const auto drops_after = [](char c) {
    return c == '-' || c == '.' || c == ':' || c == '\'' || c == '/' || c == '@';
  };
  while (!run.empty() && drops_before(run.front())) run.remove_prefix(1);
  while (!run.empty() && drops_after(run.back())) run.remove_suffix(1);
  return run;
}

}  // namespace

std::string_view kind_name(TokenKind kind) noexcept {
  switch (kind) {
    case TokenKind::word:
      return "word";
    case TokenKind::part:
      return "part";
    case TokenKind::whole:
      return "whole";
    case TokenKind::joined:
      return "joined";
  }
  return "";
}

struct Analyzer::State {
  std::string name;
  TermRules rules;
  uint64_t number = next_analyzer_number.fetch_add(1, std::memory_order_relaxed);
};

struct Analyzer::Scratch::State {
  explicit State(size_t cache_bytes) : cache(cache_bytes) {}

  uint64_t analyzer_number = 0;  // whose tokens the cache holds
  SurfaceCache cache;
  RunTokens runs;
  Draft draft;
  TokenStore uncached;  // tokens of the call in hand that did not go into the cache
};

Analyzer::Scratch::Scratch(size_t cache_bytes) : state_(std::make_unique<State>(cache_bytes)) {}
Analyzer::Scratch::~Scratch() = default;
Analyzer::Scratch::Scratch(Scratch&&) noexcept = default;
Analyzer::Scratch& Analyzer::Scratch::operator=(Scratch&&) noexcept = default;

size_t Analyzer::Scratch::memory_bytes() const noexcept {
  return sizeof(State) + state_->cache.memory_bytes() + state_->runs.memory_bytes() +
         state_->draft.memory_bytes() + state_->uncached.memory_bytes();
}

Analyzer::Analyzer(AnalyzerOptions options) : state_(std::make_unique<State>()) {
  const bool built_in = options.name == "english" || options.name == "plain";
  if (built_in && options.stemmer) {
    throw base::InvalidArgument("analyzer: expected a name of your own with a stemmer, got the built-in '" +
                                options.name + "'");
  }
  if (!built_in && !options.stemmer) {
    throw base::InvalidArgument(
        "analyzer: expected 'english', 'plain' or another name together with a stemmer, got '" +
        options.name + "' without one");
  }
  if (options.name.empty()) throw base::InvalidArgument("analyzer: expected a name, got an empty string");
  state_->name = options.name;
  state_->name += kVersion;
  state_->rules.stemming = options.stemmer             ? Stemming::custom
                           : options.name == "english" ? Stemming::english
                                                       : Stemming::none;
  if (options.stemmer) state_->rules.memo = std::make_unique<StemMemo>(std::move(options.stemmer));
}

Analyzer::~Analyzer() = default;

std::string_view Analyzer::name() const noexcept { return state_->name; }

void Analyzer::analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out) const {
  Scratch::State& state = *scratch.state_;
  out.clear();
  state.uncached.clear();
  // Only here: within a call the tokens of earlier runs must stay.
  if (state.analyzer_number != state_->number) state.cache.clear();
  state.analyzer_number = state_->number;
  state.cache.begin();

  const size_t n = utf8.size();
  for (size_t at = 0;;) {
    while (at < n && (byte_class(utf8[at]) & kInRun) == 0) ++at;
    if (at == n) break;
    const size_t from = at;
    for (;; ++at) {
      while (at < n && (byte_class(utf8[at]) & kInRun) != 0) ++at;
      // A comma goes on if it may stand between digits (beyond ASCII there are more of them).
      const bool goes_on = at + 1 < n && utf8[at] == ',' &&
                           (byte_class(utf8[at - 1]) & (kDigit | kBeyondAscii)) != 0 &&
                           (byte_class(utf8[at + 1]) & (kDigit | kBeyondAscii)) != 0;
      if (!goes_on) break;
    }
    const std::string_view run = trim(utf8.substr(from, at - from));
    if (run.empty()) continue;

    const bool cacheable = run.size() <= SurfaceCache::kMaxSurfaceBytes;
    const uint64_t hash = cacheable ? surface_hash(run) : 0;
    std::optional<std::span<const Token>> tokens;
    if (cacheable) tokens = state.cache.find(run, hash);
    if (!tokens) {
      state.draft.clear();
      state.runs.add(run, state_->rules, state.draft);
      if (cacheable) tokens = state.cache.insert(run, hash, state.draft);
      if (!tokens) tokens = state.uncached.store(state.draft);
    }
    if (tokens->size() == 1) {
      out.push_back(tokens->front());
    } else {
      out.insert(out.end(), tokens->begin(), tokens->end());
    }
  }
}

}  // namespace scrubjay::text
