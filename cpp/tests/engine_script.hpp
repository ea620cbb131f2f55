// Interprets bytes as a script of writes, deletions, compactions and searches, applied to an engine with tiny
// chunks and to its model. Random bytes make it a property test, a fuzzer's bytes a fuzz target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "engine_model.hpp"
#include "storages.hpp"

namespace scrubjay::engine {

// Takes bytes from the front of the input; zeros once it is used up.
class Bytes {
 public:
  explicit Bytes(std::string_view input) : rest_(input) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  uint32_t below(uint32_t n) {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte % n;
  }
  std::string_view piece(size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

class Script {
 public:
  explicit Script(std::string_view input)
      : bytes_(input), options_(choose_options()), engine_(options_), model_(options_) {
    const std::optional<std::string_view> none;
    scopes_ = {std::make_shared<Scope>("acme", none, none),    std::make_shared<Scope>("acme", "jane", none),
               std::make_shared<Scope>("acme", none, "bot"),   std::make_shared<Scope>("acme", "jane", "bot"),
               std::make_shared<Scope>("acme", "joe", "bot"),  std::make_shared<Scope>("globex", none, none),
               std::make_shared<Scope>("globex", "jane", none)};
  }

  // Plays the script to its end; returns the first difference, or an empty string.
  [[nodiscard]] std::string play() {
    for (size_t step = 0; step < kMaxSteps && !bytes_.empty(); ++step) {
      std::string difference = one_step();
      if (difference.empty() && step % 8 == 7) difference = difference_of_content(engine_, model_);
      if (!difference.empty())
        return "step " + std::to_string(step) + ", chunks of " + std::to_string(options_.chunk_docs) + ": " +
               difference;
    }
    return difference_of_content(engine_, model_);
  }

 private:
  static constexpr size_t kMaxSteps = 120;
  static constexpr uint32_t kDim = 3, kMaxIds = 12;

  struct Draft {
    int64_t id;
    std::string text, payload;
    bool has_payload;
    ScopeRef scope;
    std::vector<float> vector;
    std::vector<vector::PassageSpan> passages;
  };

  EngineOptions choose_options() {
    EngineOptions options;
    constexpr uint32_t sizes[] = {1, 2, 3, 8, kMaxChunkDocs};
    options.chunk_docs = sizes[bytes_.below(5)];
    options.metric = static_cast<vector::Metric>(bytes_.below(3));
    options.storage = kStorages[bytes_.below(3)];
    options.dim = bytes_.below(2) ? kDim : 0;
    if (bytes_.below(4) == 1) options.analyzer.name = "plain";
    if (bytes_.below(4) == 1) options.bm25 = {0.0, 0.75};
    return options;
  }

  const ScopeRef& any_scope() { return scopes_[bytes_.below(static_cast<uint32_t>(scopes_.size()))]; }

  std::string any_text() {
    static constexpr std::string_view words[] = {"deploy",
                                                 "staging",
                                                 "tea",
                                                 "train",
                                                 "the",
                                                 "sk-stg-0041",
                                                 "TS-999",
                                                 "jane@acme.com",
                                                 "invoices",
                                                 "running",
                                                 "a-rather-long-identifier_name",
                                                 "\u6771\u4eac\u30bf\u30ef\u30fc"};
    if (bytes_.below(4) == 0) return std::string(bytes_.piece(bytes_.below(64)));
    std::string text;
    for (uint32_t n = bytes_.below(10); n > 0; --n)
      text.append(words[bytes_.below(std::size(words))]).append(" ");
    return text;
  }

  // Coarse, so that equal similarities are common; never all zeros.
  std::vector<float> any_vector() {
    std::vector<float> vector;
    for (uint32_t i = 0; i < kDim; ++i) vector.push_back(static_cast<float>(bytes_.below(7)) - 3.0f);
    if (vector == std::vector<float>(kDim)) vector[0] = 1.0f;
    return vector;
  }

  // The key of an existing document in half of the cases; the same few ids occur in all scopes.
  DocumentKey any_key() {
    const auto& documents = model_.documents();
    if (documents.empty() || bytes_.below(2) == 0)
      return {any_scope().get(), Id::of(int64_t{bytes_.below(kMaxIds)})};
    const auto known = std::next(documents.begin(), bytes_.below(static_cast<uint32_t>(documents.size())));
    return {scope_of(known->first).get(), Id::of(known->first.id)};
  }
  const ScopeRef& scope_of(const Model::Key& key) {
    return *std::find_if(scopes_.begin(), scopes_.end(),
                         [&](const ScopeRef& scope) { return scope->key() == key.scope; });
  }

  Draft any_draft() {
    const DocumentKey key = any_key();
    Draft draft{
        key.id.integer, any_text(), "", bytes_.below(3) == 0, scope_of(Model::key_of(*key.scope, 0)), {}, {}};
    if (draft.has_payload) draft.payload = std::string(bytes_.piece(bytes_.below(8)));
    if (bytes_.below(4) != 0) draft.vector = any_vector();
    for (uint32_t n = bytes_.below(3) == 0 ? bytes_.below(4) : 0; !draft.vector.empty() && n != 0; --n) {
      if (!draft.passages.empty()) {
        const std::vector<float> another = any_vector();
        draft.vector.insert(draft.vector.end(), another.begin(), another.end());
      }
      draft.passages.push_back({n, 2 * n});
    }
    return draft;
  }
  static DocumentInput input_of(const Draft& draft) {
    DocumentInput input{Id::of(draft.id), draft.text, std::nullopt, draft.scope, draft.vector};
    if (draft.has_payload) input.payload = draft.payload;
    input.passages = draft.passages;
    return input;
  }

  std::string one_step() {
    switch (bytes_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return upsert(1);
      case 5:
        return upsert(1 + bytes_.below(6));
      case 6:
        return refused_upsert();
      case 7:
        return remove();
      case 8:
        return bytes_.below(4) == 0 ? erase() : remove();
      case 9:
        return bytes_.below(2) ? compact() : reload();
      case 10:
        return engine_.build_graphs(1 + bytes_.below(6), bytes_.below(2) == 0) <=
                       engine_.stats(nullptr).n_partitions
                   ? ""
                   : "too many graphs";
      case 11:
      case 12:
        return names();
      default:
        return search();
    }
  }

  std::string upsert(uint32_t n) {
    std::vector<Draft> drafts;
    while (drafts.size() < n) drafts.push_back(any_draft());
    std::vector<DocumentInput> inputs;
    for (const Draft& draft : drafts) inputs.push_back(input_of(draft));
    std::map<Model::Key, size_t> last;
    for (size_t i = 0; i < n; ++i) last[Model::key_of(*drafts[i].scope, drafts[i].id)] = i;
    const size_t n_written = engine_.upsert(inputs);
    if (n_written != last.size())
      return "upsert wrote " + std::to_string(n_written) + ", expected " + std::to_string(last.size());
    for (size_t i = 0; i < n; ++i) {
      if (last[Model::key_of(*drafts[i].scope, drafts[i].id)] == i) model_.upsert(inputs[i]);
    }
    return "";
  }

  // The last of several documents is invalid: none of them may be written.
  std::string refused_upsert() {
    Draft good = any_draft(), bad = any_draft();
    const uint32_t dim = engine_.dim();
    bad.passages.clear();
    bad.vector.assign(dim == 0 ? kDim : dim, bytes_.below(2) ? 0.0f : std::nanf(""));
    if (bytes_.below(3) == 0) bad.vector.assign(kDim + 1, 1.0f);
    if (dim == 0 && bad.vector.size() != kDim && good.vector.empty())
      return "";  // the first vector may have any dimension
    const DocumentInput inputs[] = {input_of(good), input_of(bad)};
    try {
      static_cast<void>(engine_.upsert(inputs));
      return "a wrong vector was accepted";
    } catch (const base::InvalidArgument&) {
      return difference_of_content(engine_, model_);
    }
  }

  std::string remove() {
    std::vector<DocumentKey> keys;
    size_t expected = 0;
    for (uint32_t n = 1 + bytes_.below(3); n > 0; --n) {
      keys.push_back(any_key());
      expected += model_.remove(*keys.back().scope, keys.back().id.integer);
    }
    const size_t n_removed = engine_.remove(keys);
    return n_removed == expected
               ? ""
               : "removed " + std::to_string(n_removed) + ", expected " + std::to_string(expected);
  }

  std::string erase() {
    const ScopeRef& scope = any_scope();
    const bool exact = bytes_.below(2) != 0;
    const size_t n_erased = engine_.erase(*scope, exact), expected = model_.erase(*scope, exact);
    return n_erased == expected
               ? ""
               : "erased " + std::to_string(n_erased) + ", expected " + std::to_string(expected);
  }

  std::string compact() {
    const uint64_t n_dead = engine_.stats(nullptr).n_dead;
    if (engine_.compact() != n_dead) return "compact() did not say how many dead documents there were";
    if (engine_.stats(nullptr).n_dead != 0) return "dead documents after compact()";
    return difference_of_content(engine_, model_);
  }

  // A partition is saved as images, erased and loaded: same content, same order.
  std::string reload() {
    const ScopeRef& scope = any_scope();
    const Digest before = engine_.digest(*scope);
    if (before.n_miscounted != 0) return "postings whose dead are miscounted";
    const std::vector<std::string> images = engine_.save_partition(*scope);
    if (engine_.erase(*scope, true) != before.n_docs) return "a digest of another number of documents";
    const std::vector<std::string_view> views(images.begin(), images.end());
    if (engine_.load_partition(scope, views) != before.n_docs) return "documents that did not come back";
    const Digest after = engine_.digest(*scope);
    if (after.documents != before.documents || after.postings != before.postings ||
        after.vectors != before.vectors || after.total_length != before.total_length) {
      return "another digest after coming back";
    }
    return difference_of_content(engine_, model_);
  }

  // Ids and keys in a filter and in rankings.
  std::string names() {
    const auto any_names = [&] {
      Named named;
      for (uint32_t n = bytes_.below(6); n > 0; --n) named.ids.insert(bytes_.below(kMaxIds));
      for (uint32_t n = bytes_.below(4); n > 0; --n) named.keys.push_back(any_key());
      return named;
    };
    const Named only = any_names(), without = any_names();
    std::vector<std::vector<DocumentKey>> rankings(bytes_.below(3));
    for (std::vector<DocumentKey>& ranking : rankings) {
      for (uint32_t n = bytes_.below(8); n > 0; --n) {
        ranking.push_back(any_key());
        if (bytes_.below(2) == 0) ranking.back().scope = nullptr;
      }
    }
    const uint32_t sets = bytes_.below(4);
    return difference_of_names(engine_, model_, *any_scope(), sets & 1 ? &only : nullptr,
                               sets & 2 ? &without : nullptr, rankings);
  }

  std::string search() {
    const std::string text = any_text();
    const std::vector<float> vector = any_vector();
    const uint32_t inputs = bytes_.below(4);
    SearchRequest request;
    if (inputs != 0) request.text = text;
    if (inputs != 1 && engine_.dim() != 0) request.vector = vector;
    request.scope = any_scope().get();
    request.k = 1 + bytes_.below(30);
    request.lexical_candidates = bytes_.below(3) == 0 ? request.k + bytes_.below(10) : 0;
    request.vector_candidates = bytes_.below(3) == 0 ? request.k + bytes_.below(10) : 0;
    request.recall = bytes_.below(2) != 0 ? 1.0 : 0.99;
    RankingOptions ranking = plain_fusion();
    request.ranking = &ranking;
    if (bytes_.below(3) == 0) ranking.fusion.rrf_k = bytes_.below(3);
    if (bytes_.below(3) == 0) ranking.fusion.lexical_weight = bytes_.below(3);
    return difference_of_search(engine_, model_, request);
  }

  Bytes bytes_;
  const EngineOptions options_;
  Engine engine_;
  Model model_;
  std::vector<ScopeRef> scopes_;
};

}  // namespace scrubjay::engine
