#include "text/analyzer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/seeded_hash.hpp"
#include "text/characters.hpp"
#include "text/draft.hpp"
#include "text/fold.hpp"
#include "text/runs.hpp"
#include "text/surface_cache.hpp"
#include "text/word_terms.hpp"

namespace scrubjay::text {
namespace {

// Incremented whenever the tokens of any text change; an index stores the name that it was built with.
constexpr std::string_view kVersion = "-1";

std::atomic<uint64_t> next_analyzer_number{1};

// Drops leading and trailing joiners without a meaning in the compound rules, so that "word." and "word"
// are one surface form. Keeps those that may have one: # and @ before, + and # after, / before a path, _
// on both sides.
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

  uint64_t analyzer_number = 0;  // the analyzer of the tokens in the cache
  SurfaceCache cache;
  RunTokens runs;
  Draft draft;
  TokenStore uncached;  // tokens of the current call that are not cached
};

Analyzer::Scratch::Scratch(size_t cache_bytes) : state_(std::make_unique<State>(cache_bytes)) {}
Analyzer::Scratch::~Scratch() = default;
Analyzer::Scratch::Scratch(Scratch&&) noexcept = default;
Analyzer::Scratch& Analyzer::Scratch::operator=(Scratch&&) noexcept = default;

void Analyzer::Scratch::trim(size_t n_bytes) noexcept {
  // Exchanged, not assigned: a moved-to string may keep its memory.
  if (state_->runs.memory_bytes() > n_bytes) (void)std::exchange(state_->runs, RunTokens());
  if (state_->draft.memory_bytes() > n_bytes) (void)std::exchange(state_->draft, Draft());
  state_->uncached.clear();
  if (state_->uncached.memory_bytes() > n_bytes) (void)std::exchange(state_->uncached, TokenStore());
}

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
  const snowball::Program* const program =
      built_in || options.stemmer ? nullptr : snowball::find_program(options.name);
  if (!built_in && !options.stemmer && !program) {
    throw base::InvalidArgument(
        "analyzer: expected 'english', 'plain', a language (" + snowball::language_names() +
        ") or another name together with a stemmer, got '" + options.name + "' without one");
  }
  if (options.name.empty()) throw base::InvalidArgument("analyzer: expected a name, got an empty string");
  state_->name = options.name;
  state_->name += kVersion;
  state_->rules.program = program;
  state_->rules.stemming = options.stemmer             ? Stemming::custom
                           : program                   ? Stemming::snowball
                           : options.name == "english" ? Stemming::english
                                                       : Stemming::none;
  if (options.stemmer) state_->rules.memo = std::make_unique<StemMemo>(std::move(options.stemmer));
}

Analyzer::~Analyzer() = default;

std::string_view Analyzer::name() const noexcept { return state_->name; }
bool Analyzer::english() const noexcept { return state_->rules.stemming == Stemming::english; }

std::string_view Analyzer::language() const noexcept {
  return state_->rules.stemming == Stemming::snowball ? state_->rules.program->language : std::string_view();
}

bool Analyzer::stems_slowly() const noexcept {
  return state_->rules.stemming == Stemming::custom || state_->rules.stemming == Stemming::snowball;
}

std::string Analyzer::term_of_word(std::string_view letters) const {
  TermMaker maker;
  return std::string(maker.plain_word(letters, state_->rules));
}

std::string Analyzer::term_of_letters(std::string_view letters) const {
  TermMaker maker;
  return std::string(maker.word(letters, state_->rules));
}

size_t Analyzer::quick_term(char* letters, size_t n) const noexcept {
  return english() ? porter2_in_place(letters, n) : n;
}

// Converts one text into tokens.
class Analyzer::Scanner {
 public:
  Scanner(const TermRules& rules, Scratch::State& state, std::vector<Token>& out, const Consume* consume)
      : rules_(rules), state_(state), out_(out), consume_(consume), limit_(consume ? kPortion : kMaxTokens) {}

  void run(std::string_view utf8) {
    scan(utf8, false);
    check_number();
  }

 private:
  // Runs that are looked up together, so that their cache misses overlap.
  struct Waiting {
    static constexpr size_t kMost = 16;
    struct One {
      std::string_view run;
      uint64_t hash;
    };
    std::array<One, kMost> runs;
    size_t n = 0;
  };

  // `normal`: the text is a normalised run.
  void scan(std::string_view utf8, bool normal) {
    constexpr size_t kBytesALook = size_t{1} << 14;
    size_t next_look = kBytesALook;
    const size_t n = utf8.size();
    Waiting waiting;
    for (size_t at = 0;;) {
      if (at >= next_look) {
        add(waiting);
        base::interruption_point();
        if (out_.size() > limit_) hand_over();
        next_look = at + kBytesALook;
      }
      while (at < n && (byte_class(utf8[at]) & kInRun) == 0) ++at;
      if (at == n) break;
      const size_t from = at;
      for (;; ++at) {
        while (at < n && (byte_class(utf8[at]) & kInRun) != 0) ++at;
        // A comma continues the run if it may be between digits (including non-ASCII ones).
        const bool goes_on = at + 1 < n && utf8[at] == ',' &&
                             (byte_class(utf8[at - 1]) & (kDigit | kBeyondAscii)) != 0 &&
                             (byte_class(utf8[at + 1]) & (kDigit | kBeyondAscii)) != 0;
        if (!goes_on) break;
      }
      const std::string_view run = trim(utf8.substr(from, at - from));
      if (run.empty()) continue;
      if (run.size() > SurfaceCache::kMaxSurfaceBytes) {
        add(waiting);
        add_long(run, normal);
        continue;
      }
      const uint64_t hash = base::seeded_hash64(run);
      state_.cache.prefetch(hash);
      waiting.runs[waiting.n++] = {run, hash};
      if (waiting.n == Waiting::kMost) add(waiting);
    }
    add(waiting);
  }

  void add(Waiting& waiting) {
    const std::span<const Waiting::One> runs = std::span(waiting.runs).first(waiting.n);
    for (const Waiting::One& one : runs) state_.cache.prefetch_tokens(one.hash);
    for (const auto& [run, hash] : runs) {
      std::optional<std::span<const Token>> tokens = state_.cache.find(run, hash);
      if (!tokens) {
        state_.draft.clear();
        state_.runs.add(run, rules_, state_.draft);
        tokens = state_.cache.insert(run, hash, state_.draft);
        if (!tokens) tokens = state_.uncached.store(state_.draft);
      }
      if (tokens->size() == 1) {
        out_.push_back(tokens->front());
      } else {
        out_.insert(out_.end(), tokens->begin(), tokens->end());
      }
    }
    waiting.n = 0;
  }

  // Adds a run that is too long for the cache. Characters that NFKC turns into phrases introduce separators:
  // the text between them is looked up in the cache like any run.
  void add_long(std::string_view run, bool normal) {
    if (!normal && !is_ascii(run)) {
      const std::string text(state_.runs.normalise(run));
      if (std::any_of(text.begin(), text.end(), [](char c) { return (byte_class(c) & kInRun) == 0; }))
        return scan(text, true);
    }
    state_.draft.clear();
    const RunTokens::Flush flush = [this](Draft& draft) {
      add(draft);
      draft.clear();
    };
    state_.runs.add(run, rules_, state_.draft, &flush);
    add(state_.draft);
  }
  void add(const Draft& draft) {
    const std::span<const Token> tokens = state_.uncached.store(draft);
    out_.insert(out_.end(), tokens.begin(), tokens.end());
    if (out_.size() > limit_) hand_over();
  }
  void hand_over() {
    check_number();
    n_handed_over_ += out_.size();
    (*consume_)(out_);
    out_.clear();
    state_.uncached.clear();
  }

  void check_number() const {
    if (n_handed_over_ + out_.size() <= kMaxTokens) return;
    throw TextTooLarge("expected at most " + std::to_string(kMaxTokens) +
                       " tokens (words and parts of identifiers), got more");
  }

  const TermRules& rules_;
  Scratch::State& state_;
  std::vector<Token>& out_;
  const Consume* const consume_;
  const size_t limit_;  // maximum number of tokens in out_
  size_t n_handed_over_ = 0;
};

void Analyzer::analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out) const {
  scan(utf8, scratch, out, nullptr);
}

void Analyzer::analyze(std::string_view utf8, Scratch& scratch, std::vector<Token>& out,
                       const Consume& consume) const {
  scan(utf8, scratch, out, &consume);
}

void Analyzer::scan(std::string_view utf8, Scratch& scratch, std::vector<Token>& out,
                    const Consume* consume) const {
  Scratch::State& state = *scratch.state_;
  out.clear();
  state.uncached.clear();
  // Only here: within a call the tokens of earlier runs must stay.
  if (state.analyzer_number != state_->number) state.cache.clear();
  state.analyzer_number = state_->number;
  state.cache.begin();
  Scanner(state_->rules, state, out, consume).run(utf8);
}

}  // namespace scrubjay::text
