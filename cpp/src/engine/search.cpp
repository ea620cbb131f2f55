// The search call: visible partitions -> one snapshot -> two rankings -> one fused ranking.

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/park.hpp"
#include "base/seeded_hash.hpp"
#include "base/worker_pool.hpp"
#include "engine/context.hpp"
#include "engine/date_signal.hpp"
#include "engine/engine.hpp"
#include "engine/lexical_arm.hpp"
#include "engine/link_graph.hpp"
#include "engine/named_documents.hpp"
#include "engine/neighbour_signal.hpp"
#include "engine/ranking.hpp"
#include "engine/search_scratch.hpp"
#include "engine/similarity_spread.hpp"
#include "engine/spelling.hpp"
#include "engine/vector_arm.hpp"

namespace scrubjay::engine {
namespace {

void check_request(const SearchRequest& request) {
  if (request.text && request.text->size() > kMaxTextBytes) {
    throw base::InvalidArgument("text: expected at most " + std::to_string(kMaxTextBytes) +
                                " bytes (16 MiB), got " + std::to_string(request.text->size()));
  }
  if (request.k == 0) throw base::InvalidArgument("k: expected a number >= 1, got 0");
  if (!(request.recall > 0.0 && request.recall <= 1.0)) {
    throw base::InvalidArgument("recall: expected a number in (0, 1] or 'exact', got " +
                                std::to_string(request.recall));
  }
  check(*request.ranking);
}

// Within a search a document is `chunk << 16 | offset`.
void check_chunks(size_t n_chunks) {
  constexpr size_t kMostChunks = size_t{1} << 16;
  if (n_chunks > kMostChunks) {
    throw base::InvalidArgument("scope: expected scopes that hold at most 65,536 chunks together, got " +
                                std::to_string(n_chunks));
  }
}

// The size of an arm's ranking for a request (0: the default).
size_t depth(const SearchRequest& request, size_t requested) noexcept {
  return requested != 0 ? requested : std::max<size_t>(100, request.k);
}

bool tells_spread(const SearchRequest& request) noexcept {
  return request.spread || (request.explain && !request.static_cosines);
}

// One search, step by step, in the scratch of its thread.
class Search {
 public:
  Search(const SearchRequest& request, const text::Analyzer& analyzer, VectorPlan plan,
         SearchScratch& scratch)
      : request_(request),
        s_(scratch),
        lexical_(request.lexical && request.text),
        english_(analyzer.english()),
        semantic_(request.semantic && !request.vector.empty()),
        terms_(lexical_ ? terms_of(*request.text, analyzer, scratch) : std::span<const lexical::TermCount>()),
        lexical_arm_(scratch, terms_),
        vector_arm_(scratch, plan) {
    s_.start();
  }

  // Adds one visible partition in a consistent state.
  void add(const Partition& partition) {
    s_.add(partition, [&](const Chunk& chunk, const ChunkSnapshot& snapshot) {
      const size_t first = s_.postings.size();
      s_.postings.resize(first + terms_.size());
      chunk.postings().find_all(terms_, snapshot.n_docs, snapshot.dead, s_.postings.data() + first);
    });
  }

  // Call after all visible partitions were added. Returns true if words were corrected and the partitions
  // must be added again.
  [[nodiscard]] bool correct_spelling(const text::Analyzer& analyzer) {
    if (!lexical_ || !request_.ranking->spelling) return false;
    Spelling spelling(s_, analyzer);
    const size_t n_given = terms_.size();
    if (!spelling.may_change(*request_.text, terms_) ||
        !spelling.correct(*request_.text, terms_, corrections_))
      return false;
    corrected_ = true;
    terms_ = s_.spelled.terms;
    lexical_arm_.use(terms_);
    if (find_new_postings(n_given)) return false;
    s_.start();
    return true;
  }

  void clear_rankings() noexcept { s_.extra_docs.clear(); }
  // Adds the documents that the keys name in the visible chunks, best first, without duplicates.
  template <class Find>
  void add_ranking(std::span<const DocumentKey> keys, size_t limit, Find&& find) {
    constexpr size_t kFew = 64;  // a linear scan is faster than hashing
    std::vector<uint32_t>& docs = s_.extra_docs.emplace_back();
    std::unordered_set<uint32_t, base::SeededHash, std::equal_to<>> seen;
    for (const DocumentKey& key : keys) {
      if (docs.size() == limit) break;
      const std::optional<uint32_t> doc = find(key);
      if (!doc) continue;
      if (docs.size() >= kFew && seen.empty()) seen.insert(docs.begin(), docs.end());
      const bool again =
          seen.empty() ? std::find(docs.begin(), docs.end(), *doc) != docs.end() : !seen.insert(*doc).second;
      if (!again) docs.push_back(*doc);
    }
  }

  // `vector`: the checked vector of the request, with its norm. `mentions`: ranks the documents of the other
  // rankings by their mentions; null: no such ranking.
  [[nodiscard]] SearchResult run(const vector::ColumnOptions& vectors, std::span<const float> vector,
                                 double length, const lexical::Bm25Parameters& bm25, LinkGraph* mentions) {
    uint64_t n_live = 0;
    for (const ChunkSnapshot& chunk : s_.chunks) n_live += chunk.n_live;
    const size_t k = static_cast<size_t>(std::min<uint64_t>(request_.k, std::max<uint64_t>(n_live, 1)));
    const bool fused = (lexical_ && semantic_) || !s_.extra_docs.empty() || mentions != nullptr;
    const bool dated = n_live != 0 && says_when();
    const bool neighboured = request_.lexical && request_.semantic &&
                             request_.ranking->neighbours_weight != 0.0 && NeighbourSignal::present(s_);
    const bool ranked = fused || dated || neighboured || request_.ranking->adjusts();
    const auto at_most = [&](size_t requested) {
      const size_t n = ranked ? depth(request_, requested) : request_.k;
      return static_cast<size_t>(std::min<uint64_t>(n, std::max<uint64_t>(n_live, 1)));
    };
    const size_t n_lexical = at_most(request_.lexical_candidates);
    const size_t n_vector = at_most(request_.vector_candidates);

    s_.lexical_docs.clear();
    s_.vector_docs.clear();
    if (lexical_) {
      weigh_terms(bm25);
      lexical_arm_.rank(bm25, n_lexical);
    }
    SearchResult result;
    if (semantic_ && vectors.dim != 0) {
      if (fused && request_.ranking->fusion.method == fusion::Method::automatic) announce_best_by_words();
      vector_arm_.rank(vector, length, vectors, n_vector, request_.recall);
      if (tells_spread(request_)) {
        vector_arm_.similarities(s_.reported_sampled, s_.similarities);
        result.spread = spread_of(s_.similarities);
      }
    }
    result.n_admitted = s_.n_admitted();
    result.lexical_gathered = lexical_arm_.gathered();
    result.vector_work = vector_arm_.work();
    result.mode = lexical_ && semantic_ ? Mode::hybrid
                  : lexical_            ? Mode::lexical
                  : semantic_           ? Mode::vector
                                        : Mode::none;
    if (mentions) s_.extra_docs.push_back(mentions->by_mentions(ranked_docs()));
    if (ranked) {
      std::optional<NeighbourSignal> neighbours;
      if (neighboured)
        neighbours.emplace(s_, lexical_arm_, vector_arm_).apply(request_.ranking->neighbours_weight);
      Ranker(*request_.ranking, s_, lexical_arm_, vector_arm_, terms_, request_.entities,
             semantic_ && vectors.dim != 0, dated, neighbours ? &*neighbours : nullptr, request_.explain)
          .run(fused, n_live, k, {n_lexical, n_vector}, result);
    } else {
      take_single(k, result);
      if (request_.explain) {
        for (const Hit& hit : result.hits) result.parts.push_back(part_of_one_arm(lexical_, hit.score));
      }
    }
    if (request_.explain) explain(result, vectors, n_live);
    if (vector_arm_.any_passages()) {
      for (Hit& hit : result.hits) hit.passage = vector_arm_.nearest_span(hit.chunk, hit.offset);
    }
    own_chunks(result);
    result.corrections = std::move(corrections_);
    return result;
  }

 private:
  // Keeps the postings of the unchanged terms and looks up the others in the same snapshot. Returns false,
  // with all postings invalid, if a partition has been written to since.
  [[nodiscard]] bool find_new_postings(size_t n_given) {
    const std::vector<uint32_t>& given_at = s_.spelled.given_at;
    s_.new_terms.clear();
    for (size_t t = 0; t < terms_.size(); ++t)
      if (given_at[t] == SpelledTerms::kNone) s_.new_terms.push_back(terms_[t]);
    s_.new_postings.resize(s_.new_terms.size());
    s_.given_postings.swap(s_.postings);
    s_.postings.resize(s_.chunks.size() * terms_.size());
    auto out = s_.postings.begin();
    for (size_t c = 0; c < s_.chunks.size(); ++c) {
      const ChunkSnapshot& chunk = s_.chunks[c];
      chunk.chunk->postings().find_all(s_.new_terms, chunk.n_docs, chunk.dead, s_.new_postings.data());
      auto next = s_.new_postings.begin();
      for (const uint32_t at : given_at)
        *out++ = at == SpelledTerms::kNone ? *next++ : s_.given_postings[c * n_given + at];
    }
    std::atomic_signal_fence(std::memory_order_acq_rel);
    for (size_t p = 0; p < s_.partitions.size(); ++p)
      if (!s_.unchanged(p)) return false;
    return true;
  }

  [[nodiscard]] static std::span<const lexical::TermCount> terms_of(std::string_view text,
                                                                    const text::Analyzer& analyzer,
                                                                    SearchScratch& scratch) {
    try {
      analyzer.analyze(text, scratch.analysis, scratch.tokens);
    } catch (const text::TextTooLarge& error) {
      throw base::InvalidArgument(std::string("text: ") + error.what());
    }
    return scratch.counter.count(scratch.tokens);
  }

  // Dates of the question count if both arms may run, even if one of them has nothing to search for.
  [[nodiscard]] bool says_when() {
    return request_.lexical && request_.semantic && request_.text && request_.ranking->dates_weight != 0.0 &&
           find_dates(*request_.text, *request_.ranking, s_);
  }

  // Sets the worths of forms and parts, which stand for another term, and of function words, unless the query
  // has no other words.
  void weigh_terms(const lexical::Bm25Parameters& bm25) {
    s_.worths.clear();
    mark_function_words(bm25);
    if (corrected_ && !s_.spelled.worth_of.empty()) {
      s_.worths.resize(terms_.size());
      for (size_t t = s_.spelled.first_form; t < terms_.size(); ++t)
        if (s_.worths[t].kind == lexical::Worth::Kind::full)
          s_.worths[t] = s_.spelled.worth_of[t - s_.spelled.first_form];
    }
  }
  void mark_function_words(const lexical::Bm25Parameters& bm25) {
    std::vector<lexical::Worth>& worths = s_.worths;
    if (!english_ || bm25.is_textbook() || s_.chunks.empty()) return;
    const std::span<const uint64_t> keys = s_.function_words.find(*request_.text);
    const std::span<const uint64_t> japanese = s_.function_words.japanese();
    const bool cannot = corrected_ && s_.spelled.means_cannot;
    const auto meant = [&](const lexical::TermCount& term) {
      if (cannot && (term.term == "can" || term.term == "not" || term.term == "cannot")) return true;
      return std::any_of(corrections_.begin(), corrections_.end(), [&](const Correction& correction) {
        return text::is_function_word(correction.used) && s_.spelled.means(term, correction.used);
      });
    };
    s_.foreign_words.start();
    for (const lexical::TermCount& term : terms_) s_.foreign_words.add(term.key);
    const bool foreign = s_.foreign_words.any(*request_.text);
    if (keys.empty() && corrections_.empty() && !cannot && !foreign) return;
    bool others = false;
    for (const lexical::TermCount& term : terms_) {
      using Kind = lexical::Worth::Kind;
      const auto is_written = [&] { return std::find(keys.begin(), keys.end(), term.key) != keys.end(); };
      const bool is_foreign = (foreign && s_.foreign_words.contains(term.key)) ||
                              std::find(japanese.begin(), japanese.end(), term.key) != japanese.end();
      worths.push_back({is_foreign                    ? Kind::foreign_word
                        : is_written() || meant(term) ? Kind::function_word
                                                      : Kind::full});
      others = others || !worths.back().is_function_word();
    }
    if (!others) worths.clear();
  }

  // Hint for the automatic fusion, which will compare the vectors of the best documents by words.
  void announce_best_by_words() const noexcept {
    constexpr size_t kMost = 48;
    vector_arm_.announce(std::span(s_.lexical_docs).first(std::min(kMost, s_.lexical_docs.size())));
  }

  // The documents of the rankings, possibly with duplicates.
  [[nodiscard]] std::vector<uint32_t> ranked_docs() const {
    std::vector<uint32_t> docs = s_.lexical_docs;
    docs.insert(docs.end(), s_.vector_docs.begin(), s_.vector_docs.end());
    for (const std::vector<uint32_t>& extra : s_.extra_docs)
      docs.insert(docs.end(), extra.begin(), extra.end());
    return docs;
  }

  void take_single(size_t k, SearchResult& result) {
    const std::vector<uint32_t>& docs = lexical_ ? s_.lexical_docs : s_.vector_docs;
    result.hits.resize(std::min(k, docs.size()));
    for (uint32_t rank = 1; rank <= result.hits.size(); ++rank) {
      Hit& hit = result.hits[rank - 1];
      hit.chunk = docs[rank - 1] >> 16;
      hit.offset = docs[rank - 1] & 0xffffu;
      if (lexical_) {
        hit.lexical_rank = rank;
        hit.score = hit.bm25 = lexical_arm_.score_at(rank);
      } else {
        hit.vector_rank = rank;
        hit.score = hit.similarity = vector_arm_.similarity_at(rank);
      }
    }
  }

  // Share of a term's information that counts if it occurs only as a correction.
  static constexpr double kGuessedShare = 0.5;
  [[nodiscard]] bool is_guessed(size_t term) const { return corrected_ && s_.spelled.guessed[term]; }

  // Information of each term and of all terms: idf, which is greatest for unknown terms; function
  // words have none.
  void weigh_information(SearchResult& result, uint64_t n_docs) {
    s_.term_idfs.assign(terms_.size(), 0.0);
    result.information = 0.0;
    if (n_docs == 0) return;
    for (size_t t = 0; t < terms_.size(); ++t) {
      const bool says = terms_[t].counts && (s_.worths.empty() || !s_.worths[t].is_function_word());
      if (says) result.information += s_.term_idfs[t] = lexical::idf(n_docs, s_.dfs[t]);
    }
  }

  // Adds evidence to every hit, from whichever ranking.
  void explain(SearchResult& result, const vector::ColumnOptions& vectors, uint64_t n_docs) {
    if (lexical_) {
      weigh_information(result, n_docs);
      find_any_form(s_.tokens, terms_, s_.identifiers);
    }
    uint32_t n_counting = 0;
    for (const lexical::TermCount& term : terms_) {
      result.terms.emplace_back(term.term);
      n_counting += term.counts ? 1 : 0;
    }
    result.matched.resize(result.hits.size());
    for (size_t i = 0; i < result.hits.size(); ++i) {
      Hit& hit = result.hits[i];
      if (lexical_ && !terms_.empty()) {
        const double score = lexical_arm_.score(hit.chunk, hit.offset);
        if (score != 0.0) hit.bm25 = score;
        uint32_t n_present = 0;
        double information = 0.0;
        for (uint32_t t = 0; t < terms_.size(); ++t) {
          if (!lexical_arm_.holds(hit.chunk, hit.offset, t)) continue;
          result.matched[i].push_back(t);
          n_present += terms_[t].counts ? 1 : 0;
          information += is_guessed(t) ? kGuessedShare * s_.term_idfs[t] : s_.term_idfs[t];
        }
        if (result.information > 0.0) hit.information = information / result.information;
        if (n_counting != 0) hit.coverage = static_cast<double>(n_present) / n_counting;
        hit.another = s_.identifiers.names_any && !holds_named(hit);
      }
      if (semantic_ && vectors.dim != 0) hit.similarity = vector_arm_.similarity(hit.chunk, hit.offset);
    }
  }

  // Whether a hit holds an identifier of the question in any of its forms, or as a part of a longer one.
  [[nodiscard]] bool holds_named(const Hit& hit) {
    const std::vector<uint32_t>& forms = s_.identifiers.any_form;
    if (std::any_of(forms.begin(), forms.end(),
                    [&](uint32_t form) { return lexical_arm_.holds(hit.chunk, hit.offset, form); }))
      return true;
    const Chunk& chunk = *s_.chunks[hit.chunk].chunk;
    const auto is_in = [&](std::string_view text) {
      return s_.longer_identifiers.any_in(text, s_.identifiers.written);
    };
    std::string buffer;
    return is_in(chunk.text(hit.offset)) || is_in(context_of(chunk.payload(hit.offset), buffer));
  }

  // Replaces ordinals of visible chunks by references that outlive the search. Prefetches the ids.
  void own_chunks(SearchResult& result) {
    result.chunks.reserve(std::min(result.hits.size(), s_.chunks.size()));
    uint32_t last = 0xffffffffu, place = 0;  // of the previous hit, usually in the same chunk
    for (Hit& hit : result.hits) {
      if (hit.chunk != last) {
        last = hit.chunk;
        const Chunk* chunk = s_.chunks[last].chunk;
        const auto position = std::find_if(result.chunks.begin(), result.chunks.end(),
                                           [&](const ChunkRef& ref) { return ref.get() == chunk; });
        place = static_cast<uint32_t>(position - result.chunks.begin());
        if (position == result.chunks.end()) result.chunks.emplace_back(chunk);
      }
      s_.chunks[last].chunk->prefetch(hit.offset);
      hit.chunk = place;
    }
  }

  const SearchRequest& request_;
  SearchScratch& s_;
  const bool lexical_;
  const bool english_;
  const bool semantic_;
  std::span<const lexical::TermCount> terms_;
  std::vector<Correction> corrections_;
  bool corrected_ = false;  // the terms are those of scratch.spelled
  LexicalArm lexical_arm_;
  VectorArm vector_arm_;
};

}  // namespace

SearchResult Engine::search_row(const SearchRequest& request, size_t row) const {
  if (request.embedder && request.text && request.semantic && request.vector.empty())
    return search_embedded(request, row);
  check_request(request);
  const vector::ColumnOptions vectors = column_options();
  SearchScratch& scratch = SearchScratch::of_thread();
  const ScratchUse use(scratch);
  double length = 0.0;  // of the vector
  if (request.semantic && !request.vector.empty() && vectors.dim != 0) {
    // The checked copy is the one that is compared: another thread may change the caller's array.
    scratch.query.assign(request.vector.begin(), request.vector.end());
    length = check_vector(scratch.query, vectors.dim, row);
  }
  const base::EpochGuard guard;
  Search search(request, analyzer_, options_.vector_plan, scratch);
  const auto add_visible = [&] {
    for (const Scope::Visible& visible : request.visible()) {
      if (const Partition* partition = partitions_.find(visible.key, visible.hash)) search.add(*partition);
    }
    check_chunks(scratch.chunks.size());
  };
  add_visible();
  if (search.correct_spelling(analyzer_)) add_visible();
  if (request.ranking->entity_weight != 0.0) scratch.count_entity_links(request.entities);
  if (tells_spread(request)) sample_documents(scratch.chunks, kMostReported, scratch.reported_sampled);
  if (request.ranking->fusion.method == fusion::Method::automatic && !request.vector.empty())
    sample_documents(scratch.chunks, kMostFused, scratch.sampled);
  if (request.filter.any()) apply_filter(request.filter, scratch);
  for (size_t r = 0; r < request.rankings.size(); ++r) {
    const std::vector<DocumentKey>& keys = request.rankings[r];
    const std::string name = "rankings[" + std::to_string(r) + "]: id";
    for (size_t i = 0; i < keys.size(); ++i) check_kind(keys[i].id, name.c_str(), i);
  }
  const size_t limit = depth(request, std::max(request.lexical_candidates, request.vector_candidates));
  if (!request.rankings.empty()) {
    NamedDocuments named(ids_, scratch);
    do {
      search.clear_rankings();
      for (const std::vector<DocumentKey>& keys : request.rankings)
        search.add_ranking(keys, limit, [&](const DocumentKey& key) { return named.find(key); });
    } while (!named.settled(request.rankings));
  }
  std::optional<LinkGraph> links;
  if (request.links) {
    for (size_t i = 0; i < request.links->centres.size(); ++i)
      check_kind(request.links->centres[i].id, "links.centres: id", i);
    links.emplace(ids_, scratch, *request.links);
    if (!request.links->centres.empty()) scratch.extra_docs.push_back(links->by_distance(limit));
  }
  LinkGraph* mentions = links && request.links->mentions ? &*links : nullptr;
  return search.run(vectors, scratch.query, length, options_.bm25, mentions);
}

std::vector<SearchResult> Engine::search_batch(std::span<const SearchRequest> requests,
                                               unsigned n_threads) const {
  std::vector<SearchResult> results(requests.size());
  std::atomic<size_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;
  const auto work = [&]() noexcept {
    for (size_t i = next.fetch_add(1); i < requests.size(); i = next.fetch_add(1)) {
      try {
        base::interruption_point();
        results[i] = search_row(requests[i], i);
      } catch (...) {
        if (base::unwound_from_outside()) base::park();
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(requests.size());  // requests that have not begun are not needed
      }
    }
  };
  if (n_threads == 0) n_threads = base::n_cores();
  n_threads = static_cast<unsigned>(std::min<size_t>(n_threads, requests.size()));
  const bool complete = n_threads == 0 || base::run_with_helpers(n_threads - 1, work);
  if (error) std::rethrow_exception(error);
  if (!complete) throw base::Error("the process forked in the middle of the batch; search again");
  return results;
}

}  // namespace scrubjay::engine
