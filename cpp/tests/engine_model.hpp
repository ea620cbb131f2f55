// The model of an engine, slow and obvious: a list of documents in order of writing.
//
// It shares only the analyzer with the engine (which has its own tests); BM25, visibility, the meaning of
// ids, ties and rank fusion are computed from the documents for every query. difference_*() return a
// description of the difference, or an empty string.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "engine/engine.hpp"
#include "text/analyzer.hpp"
#include "text/foreign_function_words.hpp"
#include "text/function_words.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {

class Model {
 public:
  struct Key {
    std::string scope;  // Scope::key()
    int64_t id = 0;
    auto operator<=>(const Key&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Key& key) {
      out << key.id << " of";
      for (const char c : key.scope) out << (c > ' ' && c <= '~' ? c : ' ');
      return out;
    }
  };
  [[nodiscard]] static Key key_of(const Scope& scope, int64_t id) { return {std::string(scope.key()), id}; }

  struct Document {
    std::string text;
    std::optional<std::string> payload;
    ScopeRef scope;
    std::vector<float> vector;  // or those of its passages, concatenated
    size_t n_passages = 0;
    uint64_t written = 0;  // increases with every write
    std::map<std::string, uint32_t> tfs;
    uint32_t length = 0;  // as kept by the length code
  };
  struct Ranked {
    Key key;
    double score;
  };

  explicit Model(const EngineOptions& options) : options_(options), analyzer_(options.analyzer) {}

  // --- the engine's operations -------------------------------------------------------------------
  void upsert(const DocumentInput& input) {
    Document document;
    document.text = text::sanitize_utf8(input.text);
    if (input.payload) document.payload = std::string(*input.payload);
    document.scope = input.scope;
    document.vector.assign(input.vector.begin(), input.vector.end());
    document.n_passages = input.passages.size();
    document.written = ++n_writes_;
    uint32_t n_counting = 0;
    for (const text::Token& token : analyze(document.text)) {
      ++document.tfs[std::string(token.term)];
      n_counting += text::counts(token.kind) ? 1 : 0;
    }
    document.length = kept_length(n_counting);
    documents_.insert_or_assign(key_of(*input.scope, input.id.integer), std::move(document));
  }
  size_t remove(const Scope& scope, int64_t id) { return documents_.erase(key_of(scope, id)); }
  size_t erase(const Scope& scope, bool exact) {
    return std::erase_if(documents_, [&](const auto& entry) {
      const Scope& owner = *entry.second.scope;
      return exact ? owner == scope : scope.contains(owner);
    });
  }

  // --- the expected answers ----------------------------------------------------------------------
  [[nodiscard]] const std::map<Key, Document>& documents() const { return documents_; }
  [[nodiscard]] const Document& at(const Scope& scope, int64_t id) const {
    return documents_.at(key_of(scope, id));
  }
  [[nodiscard]] size_t count(const Scope* from) const {
    size_t n = 0;
    for (const auto& [key, document] : documents_) n += !from || visible_rank(*from, *document.scope) >= 0;
    return n;
  }
  // The most specific document with this id that is visible from `from` and for which `admits(key)` holds.
  template <class Admits>
  [[nodiscard]] std::optional<Key> find(int64_t id, const Scope& from, Admits&& admits) const {
    const std::optional<std::string_view> none, user = from.user(), agent = from.agent();
    for (const auto& [with_user, with_agent] :
         {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
      if ((with_user && !user) || (with_agent && !agent)) continue;
      const Scope owner(from.tenant(), with_user ? user : none, with_agent ? agent : none);
      const Key key = key_of(owner, id);
      if (documents_.contains(key) && admits(key)) return key;
    }
    return std::nullopt;
  }

  // The position of the documents of `owner` in the order of ties for a search from `from`; -1: not visible.
  [[nodiscard]] static int visible_rank(const Scope& from, const Scope& owner) {
    if (owner.tenant() != from.tenant()) return -1;
    if (owner.user() && owner.user() != from.user()) return -1;
    if (owner.agent() && owner.agent() != from.agent()) return -1;
    return (owner.user() ? 1 : 0) + (owner.agent() ? 2 : 0);
  }
  // Whether the first comes before the second at equal scores.
  [[nodiscard]] bool before(const Scope& from, const Key& a, const Key& b) const {
    const Document &first = documents_.at(a), &second = documents_.at(b);
    return std::pair(visible_rank(from, *first.scope), first.written) <
           std::pair(visible_rank(from, *second.scope), second.written);
  }

  // Upper bounds on the idf of each query term: those of function words, unless the query has no other words.
  [[nodiscard]] std::vector<double> most_idfs(const std::vector<std::pair<std::string, uint32_t>>& terms,
                                              std::string_view query) const {
    if (options_.analyzer.name != "english" || options_.bm25.is_textbook())
      return std::vector<double>(terms.size(), kAny);
    text::FunctionWords finder;
    const auto keys = finder.find(query);
    text::ForeignFunctionWords of_others;
    of_others.start();
    for (const auto& [term, count] : terms) of_others.add(text::term_key(term));
    const bool foreign = of_others.any(query);
    std::vector<double> most;
    for (const auto& [term, count] : terms) {
      const uint64_t key = text::term_key(term);
      const auto japanese = finder.japanese();
      const bool of_japanese = std::find(japanese.begin(), japanese.end(), key) != japanese.end();
      const bool of_english = std::find(keys.begin(), keys.end(), key) != keys.end();
      most.push_back((foreign && of_others.contains(key)) || of_japanese ? 0.1 : of_english ? 0.5 : kAny);
    }
    if (std::find(most.begin(), most.end(), kAny) == most.end()) most.assign(most.size(), kAny);
    return most;
  }

  // All visible matches, best first.
  [[nodiscard]] std::vector<Ranked> rank_lexically(const Scope& from, std::string_view query) const {
    std::vector<std::pair<std::string, uint32_t>> terms;
    for (const text::Token& token : analyze(query)) {
      const auto known = std::find_if(terms.begin(), terms.end(),
                                      [&](const auto& term) { return term.first == token.term; });
      if (known == terms.end()) {
        terms.emplace_back(token.term, 1);
      } else {
        ++known->second;
      }
    }
    uint64_t n = 0, total_length = 0;
    std::vector<uint64_t> dfs(terms.size());
    for (const auto& [key, document] : documents_) {
      if (visible_rank(from, *document.scope) < 0) continue;
      ++n;
      total_length += document.length;
      for (size_t t = 0; t < terms.size(); ++t) dfs[t] += document.tfs.count(terms[t].first);
    }
    double idf_total = 0.0;
    std::vector<double> idfs(terms.size());
    for (size_t t = 0; t < terms.size(); ++t) {
      const double df = static_cast<double>(dfs[t]);
      if (dfs[t] != 0) idfs[t] = std::log(1.0 + (static_cast<double>(n) - df + 0.5) / (df + 0.5));
      idf_total += terms[t].second * idfs[t];
    }
    int bits = 20;
    while (std::ldexp(idf_total, bits) >= 0x1p30) --bits;
    const double average = n == 0 ? 0.0 : static_cast<double>(total_length) / static_cast<double>(n);
    const auto [k1, b] = options_.bm25.resolved(average);
    const std::vector<double> most = most_idfs(terms, query);
    std::vector<Ranked> ranked;
    for (const auto& [key, document] : documents_) {
      if (visible_rank(from, *document.scope) < 0) continue;
      const double ratio = average > 0.0 ? document.length / average : 0.0;
      const auto norm = static_cast<float>(k1 * ((1.0 - b) + b * ratio));
      uint64_t score = 0;
      for (size_t t = 0; t < terms.size(); ++t) {
        const auto found = document.tfs.find(terms[t].first);
        if (found == document.tfs.end()) continue;
        const auto tf = static_cast<float>(std::min(found->second, 31u));
        const double idf = std::min(idfs[t], most[t]);
        const float weight = static_cast<float>(std::ldexp(idf, bits)), product = weight * tf,
                    sum = tf + norm;
        score += terms[t].second * static_cast<uint64_t>(std::max(1L, std::lrint(product / sum)));
      }
      if (score != 0) ranked.push_back({key, std::ldexp(static_cast<double>(score), -bits)});
    }
    sort(from, ranked);
    return ranked;
  }

  void sort(const Scope& from, std::vector<Ranked>& ranked) const {
    std::sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
      return a.score != b.score ? a.score > b.score : before(from, a.key, b.key);
    });
  }

  [[nodiscard]] double similarity(std::span<const float> query, const Key& key) const {
    double greatest = -std::numeric_limits<double>::infinity();
    for_each_vector(key, [&](std::span<const float> vector) {
      greatest = std::max(greatest, similarity_of(query, vector));
    });
    return greatest;
  }
  [[nodiscard]] double similarity_of(std::span<const float> query, std::span<const float> vector) const {
    double dot = 0.0, distance = 0.0;
    for (size_t i = 0; i < query.size(); ++i) {
      const double q = query[i], d = vector[i];
      dot += q * d;
      distance += (q - d) * (q - d);
    }
    switch (options_.metric) {
      case vector::Metric::cosine:
        return dot / (vector::norm(query) * vector::norm(vector));
      case vector::Metric::inner_product:
        return dot;
      case vector::Metric::l2:
        break;
    }
    return -distance;
  }
  template <class Visit>
  void for_each_vector(const Key& key, Visit&& visit) const {
    const Document& document = documents_.at(key);
    const size_t n = std::max<size_t>(document.n_passages, 1), dim = document.vector.size() / n;
    for (size_t i = 0; i < n; ++i) visit(std::span(document.vector).subspan(i * dim, dim));
  }
  // The greatest distance of a stored vector from the given one, as a part of its length.
  [[nodiscard]] double rounding(size_t dim) const noexcept {
    switch (options_.storage) {
      case vector::Storage::f16:
        return 5e-4;
      case vector::Storage::f32:
        return 2e-7;
      case vector::Storage::i8:
        break;
    }
    return std::sqrt(static_cast<double>(dim)) / 253.0;
  }
  // Tolerance for the engine's similarity: the errors of its storage and of single precision.
  [[nodiscard]] double tolerance(std::span<const float> query, const Key& key) const {
    const double storage =
        2.0 * rounding(query.size()) + (options_.storage == vector::Storage::f16 ? 1e-4 : 4e-6);
    const double q = vector::norm(query);
    double d = 0.0;
    for_each_vector(key, [&](std::span<const float> vector) { d = std::max(d, vector::norm(vector)); });
    switch (options_.metric) {
      case vector::Metric::cosine:
        return storage;
      case vector::Metric::inner_product:
        return storage * q * d;
      case vector::Metric::l2:
        break;
    }
    return storage * (q + d) * (q + d);
  }

 private:
  static constexpr double kAny = std::numeric_limits<double>::infinity();

  // The lower bound of the length's quantisation step.
  [[nodiscard]] static uint32_t kept_length(uint32_t length) {
    if (length <= 1024) return length;
    uint32_t octave = 1024;
    while (length >= 2 * octave && octave < 1024 << 7) octave *= 2;
    const uint32_t step = octave / 128;
    return octave + std::min((length - octave) / step, 127u) * step;
  }
  [[nodiscard]] const std::vector<text::Token>& analyze(std::string_view text) const {
    analyzer_.analyze(text, scratch_, tokens_);
    return tokens_;
  }

  const EngineOptions options_;
  const text::Analyzer analyzer_;
  mutable text::Analyzer::Scratch scratch_;
  mutable std::vector<text::Token> tokens_;
  std::map<Key, Document> documents_;
  uint64_t n_writes_ = 0;
};

[[nodiscard]] inline int64_t id_of(const SearchResult& result, const Hit& hit) {
  const base::EpochGuard guard;
  return result.chunk_of(hit).id(hit.offset).integer;
}

[[nodiscard]] inline Model::Key key_of(const SearchResult& result, const Hit& hit) {
  const base::EpochGuard guard;
  const Chunk& chunk = result.chunk_of(hit);
  return Model::key_of(*chunk.scope(), chunk.id(hit.offset).integer);
}

// Compares counts, the document that each scope gets for each id, and every document with its text, payload,
// scope and vector.
[[nodiscard]] inline std::string difference_of_content(const Engine& engine, const Model& model) {
  std::ostringstream out;
  const auto expect = [&](bool held, auto&&... what) {
    if (!held && out.tellp() == 0) (out << ... << what);
  };
  const size_t n = model.documents().size();
  expect(engine.count(nullptr) == n, "count: ", engine.count(nullptr), ", expected ", n);
  const EngineStats stats = engine.stats(nullptr);
  size_t n_vectors = 0;
  std::map<std::string, ScopeRef> scopes;
  std::set<int64_t> ids;
  for (const auto& [key, document] : model.documents()) {
    scopes.emplace(key.scope, document.scope);
    ids.insert(key.id);
    n_vectors += !document.vector.empty();
    const auto stored = engine.get(Id::of(key.id), *document.scope);
    expect(stored.has_value(), "document ", key, " is missing");
    if (!stored) break;
    const base::EpochGuard guard;
    const Chunk& chunk = *stored->chunk.get();
    expect(chunk.id(stored->offset) == Id::of(key.id), "document ", key, " is ",
           chunk.id(stored->offset).to_string());
    expect(chunk.text(stored->offset) == document.text, "text of ", key, ": ", chunk.text(stored->offset));
    const auto payload = chunk.payload(stored->offset);
    expect(payload.has_value() == document.payload.has_value() && (!payload || *payload == *document.payload),
           "payload of ", key);
    expect(*chunk.scope() == *document.scope, "scope of ", key);
    const bool has = chunk.has_vector(stored->offset);
    expect(has == !document.vector.empty(), "vector of ", key, has ? " is there" : " is missing");
    if (!has || document.vector.empty()) continue;
    const vector::Passages* passages = chunk.passages();
    const vector::PassageEntry* entry = passages ? passages->find(stored->offset) : nullptr;
    expect((entry ? entry->n : 0) == document.n_passages, "passages of ", key);
    if ((entry ? entry->n : 0) != document.n_passages) continue;
    uint32_t row = entry ? entry->first : stored->offset;
    model.for_each_vector(key, [&, &key = key](std::span<const float> vector) {
      std::vector<float> read(vector.size());
      (entry ? passages->rows() : *chunk.vectors()).read(row++, read);
      double moved = 0.0;
      for (size_t i = 0; i < read.size(); ++i)
        moved += std::pow(static_cast<double>(read[i]) - static_cast<double>(vector[i]), 2);
      const double allowed = model.rounding(vector.size()) * vector::norm(vector);
      expect(std::sqrt(moved) <= allowed, "vector of ", key, " moved");
    });
    const Scope& owner = *document.scope;
    expect(engine.count(&owner) == model.count(&owner), "count from the scope of ", key);
  }
  for (const auto& [name, scope] : scopes) {
    for (const int64_t id : ids) {
      const auto stored = engine.get(Id::of(id), *scope);
      const auto expected = model.find(id, *scope, [](const Model::Key&) { return true; });
      const base::EpochGuard guard;
      expect(stored.has_value() == expected.has_value() &&
                 (!stored || Model::key_of(*stored->chunk->scope(), id) == *expected),
             "what ", Model::Key{name, id}, " gets");
    }
  }
  expect(stats.n_docs == n, "stats.n_docs: ", stats.n_docs, ", expected ", n);
  expect(stats.n_vectors == n_vectors, "stats.n_vectors: ", stats.n_vectors, ", expected ", n_vectors);
  return out.str();
}

// Compares one search with both inputs (either or both may be missing), in every mode that they allow.
// With `exact` false the engine may answer from a graph: the vector ranking must then only be correct as
// far as it goes.
[[nodiscard]] inline std::string difference_of_search(const Engine& engine, const Model& model,
                                                      SearchRequest request) {
  std::ostringstream out;
  const auto expect = [&](bool held, auto&&... what) {
    if (!held && out.tellp() == 0) (out << ... << what);
  };
  const Scope& from = *request.scope;
  const size_t n_visible = model.count(&from);
  const auto depth = [&](size_t asked) { return asked != 0 ? asked : std::max<size_t>(100, request.k); };
  const size_t n_lexical = depth(request.lexical_candidates), n_vector = depth(request.vector_candidates);
  const auto run = [&](bool lexical, bool semantic, size_t k) {
    SearchRequest single = request;
    if (!lexical) single.text.reset();
    if (!semantic) single.vector = {};
    single.k = k;
    if (k != request.k) single.lexical_candidates = single.vector_candidates = 0;
    return engine.search(single);
  };

  std::vector<Model::Key> lexical_keys, vector_keys;
  if (request.text) {
    const std::vector<Model::Ranked> expected = model.rank_lexically(from, *request.text);
    const SearchResult result = run(true, false, n_lexical);
    expect(result.mode == Mode::lexical, "mode of a search by text");
    expect(result.hits.size() == std::min(expected.size(), n_lexical), "text: ", result.hits.size(),
           " hits, expected ", expected.size());
    for (size_t i = 0; i < std::min(result.hits.size(), expected.size()); ++i) {
      const Hit& hit = result.hits[i];
      expect(key_of(result, hit) == expected[i].key, "text, hit ", i, ": ", key_of(result, hit),
             ", expected ", expected[i].key);
      expect(hit.score == expected[i].score && hit.bm25 == hit.score, "text, score of hit ", i, ": ",
             hit.score, ", expected ", expected[i].score);
      expect(hit.lexical_rank == i + 1 && hit.vector_rank == 0, "text, ranks of hit ", i);
      lexical_keys.push_back(key_of(result, hit));
    }
  }
  if (!request.vector.empty()) {
    const SearchResult result = run(false, true, n_vector);
    expect(result.mode == Mode::vector, "mode of a search by vector");
    std::map<Model::Key, double> left;
    for (const auto& [key, document] : model.documents()) {
      if (!document.vector.empty() && Model::visible_rank(from, *document.scope) >= 0)
        left[key] = model.similarity(request.vector, key);
    }
    if (request.recall == 1.0)
      expect(result.hits.size() == std::min(left.size(), n_vector), "vector: ", result.hits.size(),
             " hits of ", left.size());
    for (size_t i = 0; i < result.hits.size(); ++i) {
      const Hit& hit = result.hits[i];
      const Model::Key key = key_of(result, hit);
      const auto known = left.find(key);
      expect(known != left.end(), "vector, hit ", i, ": ", key,
             " is not visible, has no vector or comes twice");
      if (known == left.end()) break;
      expect(std::fabs(hit.score - known->second) <= model.tolerance(request.vector, key) &&
                 hit.similarity == hit.score,
             "vector, similarity of ", key, ": ", hit.score, ", expected ", known->second);
      expect(hit.vector_rank == i + 1 && hit.lexical_rank == 0, "vector, ranks of hit ", i);
      if (i > 0) {
        const Hit& previous = result.hits[i - 1];
        expect(previous.score > hit.score ||
                   (previous.score == hit.score && model.before(from, key_of(result, previous), key)),
               "vector, order of hits ", i - 1, " and ", i);
      }
      left.erase(known);
      vector_keys.push_back(key);
    }
    if (request.recall == 1.0 && !result.hits.empty()) {
      for (const auto& [key, similarity] : left) {
        expect(similarity <= result.hits.back().score + model.tolerance(request.vector, key), "vector: ", key,
               " was left out");
      }
    }
  }
  if (request.text && !request.vector.empty()) {
    std::map<Model::Key, double> scores;
    for (size_t i = 0; i < lexical_keys.size(); ++i)
      scores[lexical_keys[i]] += request.ranking->fusion.lexical_weight /
                                 (request.ranking->fusion.rrf_k + static_cast<double>(i + 1));
    for (size_t i = 0; i < vector_keys.size(); ++i)
      scores[vector_keys[i]] += request.ranking->fusion.vector_weight /
                                (request.ranking->fusion.rrf_k + static_cast<double>(i + 1));
    std::vector<Model::Ranked> expected;
    for (const auto& [key, score] : scores) expected.push_back({key, score});
    model.sort(from, expected);
    const SearchResult result = engine.search(request);
    expect(result.mode == Mode::hybrid, "mode of a search by both");
    expect(result.hits.size() == std::min({expected.size(), request.k, n_visible}),
           "hybrid: ", result.hits.size(), " hits, expected ", expected.size());
    for (size_t i = 0; i < std::min(result.hits.size(), expected.size()); ++i) {
      const Hit& hit = result.hits[i];
      expect(key_of(result, hit) == expected[i].key, "hybrid, hit ", i, ": ", key_of(result, hit),
             ", expected ", expected[i].key);
      expect(hit.score == expected[i].score, "hybrid, score of hit ", i);
      const auto rank_in = [&](const std::vector<Model::Key>& keys) {
        const auto at = std::find(keys.begin(), keys.end(), expected[i].key);
        return at == keys.end() ? 0u : static_cast<uint32_t>(at - keys.begin()) + 1;
      };
      expect(hit.lexical_rank == rank_in(lexical_keys) && hit.vector_rank == rank_in(vector_keys),
             "hybrid, ranks of hit ", i);
    }
  }
  return out.str();
}

// Documents named by ids in any scope, and by keys.
struct Named {
  std::set<int64_t> ids;
  std::vector<DocumentKey> keys;

  [[nodiscard]] bool contains(const Model::Key& key) const {
    return ids.contains(key.id) || std::any_of(keys.begin(), keys.end(), [&](const DocumentKey& one) {
             return Model::key_of(*one.scope, one.id.integer) == key;
           });
  }
};

// Compares the documents that ids and keys name: a count, and a search by rankings alone under a filter with
// them. Null: no such set.
[[nodiscard]] inline std::string difference_of_names(const Engine& engine, const Model& model,
                                                     const Scope& from, const Named* only,
                                                     const Named* without,
                                                     std::span<const std::vector<DocumentKey>> rankings) {
  const auto admits = [&](const Model::Key& key) {
    return (!only || only->contains(key)) && (!without || !without->contains(key));
  };
  std::optional<filter::IdSet> wanted, unwanted;
  const auto names_of = [](const Named* named, std::optional<filter::IdSet>& ids) {
    if (!named) return DocumentNames{};
    ids.emplace(filter::IdSet::of_integers(std::vector<int64_t>(named->ids.begin(), named->ids.end())));
    return DocumentNames{&*ids, named->keys.empty() ? nullptr : &named->keys};
  };
  const DocumentFilter filter{nullptr, names_of(only, wanted), names_of(without, unwanted)};

  std::ostringstream out;
  size_t n_admitted = 0;
  for (const auto& [key, document] : model.documents())
    n_admitted += Model::visible_rank(from, *document.scope) >= 0 && admits(key);
  if (const size_t n = engine.count(from, filter); n != n_admitted)
    out << "count by ids: " << n << ", expected " << n_admitted;
  if (out.tellp() != 0 || rankings.empty()) return out.str();

  std::map<Model::Key, double> scores;
  for (const std::vector<DocumentKey>& ranking : rankings) {
    std::vector<Model::Key> known;
    for (const DocumentKey& named : ranking) {
      std::optional<Model::Key> key;
      if (!named.scope) {
        key = model.find(named.id.integer, from, admits);
      } else if (Model::visible_rank(from, *named.scope) >= 0) {
        key = Model::key_of(*named.scope, named.id.integer);
        if (!model.documents().contains(*key) || !admits(*key)) key.reset();
      }
      if (!key || std::find(known.begin(), known.end(), *key) != known.end()) continue;
      known.push_back(*key);
      scores[*key] += 1.0 / (60.0 + static_cast<double>(known.size()));
    }
  }
  std::vector<Model::Ranked> expected;
  for (const auto& [key, score] : scores) expected.push_back({key, score});
  model.sort(from, expected);
  SearchRequest request;
  request.scope = &from;
  request.lexical = request.semantic = false;
  request.rankings = rankings;
  request.filter = filter;
  request.k = 1000;
  const SearchResult result = engine.search(request);
  if (result.hits.size() != expected.size())
    out << "rankings: " << result.hits.size() << " hits, expected " << expected.size();
  for (size_t i = 0; out.tellp() == 0 && i < expected.size(); ++i) {
    const Model::Key key = key_of(result, result.hits[i]);
    if (key != expected[i].key || result.hits[i].score != expected[i].score)
      out << "rankings, hit " << i << ": " << key << ", expected " << expected[i].key;
  }
  return out.str();
}

}  // namespace scrubjay::engine
