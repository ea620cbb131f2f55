// Engine: the whole native core behind one class: documents in, ranked documents out.
//
// Long calls pass interruption points (base/interruption.hpp); an engine goes on in the child of a fork
// (base/fork.hpp). Thread-safe throughout. Writers of one partition take turns, and share next to nothing
// with those of others (turn.hpp); searches take no lock and never wait for a writer's work. A write is
// visible to every search that starts after it returned. Knows nothing of Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/errors.hpp"
#include "base/fork.hpp"
#include "embed/static_embedder.hpp"
#include "engine/id_index.hpp"
#include "engine/image.hpp"
#include "engine/partition_table.hpp"
#include "engine/planner.hpp"
#include "engine/prepared_batch.hpp"
#include "engine/ranking_options.hpp"
#include "engine/result.hpp"
#include "filter/id_set.hpp"
#include "filter/predicate.hpp"
#include "lexical/bm25.hpp"
#include "text/analyzer.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

struct SearchScratch;

// Of a text (before and after what is no UTF-8 became U+FFFD) and of a payload: 16 MiB.
inline constexpr size_t kMaxTextBytes = size_t{1} << 24;

struct EngineOptions {
  uint32_t dim = 0;  // 0: the first vector decides
  vector::Metric metric = vector::Metric::cosine;
  vector::Storage storage = vector::Storage::f16;
  text::AnalyzerOptions analyzer;
  lexical::Bm25Parameters bm25;
  uint32_t chunk_docs = kMaxChunkDocs;  // tests make chunks small
  VectorPlan vector_plan = VectorPlan::automatic;
  uint64_t graph_bytes = planner::kGraphBytes;  // tests make graphs small
  bool background = false;  // compact and build graphs on a thread of the engine's (upkeep.cpp)
};

// A document's version is the number of its last write, at least 1 and ascending over an engine. What a
// conditional write expects: a version, absence (0), or nothing.
inline constexpr uint64_t kAbsent = 0;
inline constexpr uint64_t kAnyVersion = UINT64_MAX;

// The key of a document.
struct DocumentKey {
  const Scope* scope = nullptr;  // exactly
  Id id;
};

struct DocumentInput {
  Id id;
  std::string_view text;  // any bytes: what is not UTF-8 becomes U+FFFD
  std::optional<std::string_view> payload;
  ScopeRef scope;
  std::span<const float> vector;  // empty: none
  uint64_t expected = kAnyVersion;
  // Not empty: `vector` is a vector for each of these passages, one behind the other.
  std::span<const vector::PassageSpan> passages{};

  // Of one vector.
  [[nodiscard]] size_t dim() const noexcept {
    return passages.empty() ? vector.size() : vector.size() / passages.size();
  }
  [[nodiscard]] DocumentKey key() const noexcept { return {scope.get(), id}; }
};

// A conditional write that was refused: the document is not, or no longer, as its writer saw it.
struct VersionConflict : base::Error {
  VersionConflict(const DocumentInput& written, uint64_t found_version);
  const DocumentInput* document;  // of the batch
  uint64_t found;                 // version; kAbsent: there is none
};

// What a batch wrote: the distinct documents, in order, have consecutive versions.
struct Written {
  size_t n_docs = 0;
  uint64_t first_version = 0;
};

// Documents that a caller names: by their ids, in whichever scope, and by their keys. Null: none in this way.
struct DocumentNames {
  const filter::IdSet* ids = nullptr;
  const std::vector<DocumentKey>* keys = nullptr;  // each with its scope
  [[nodiscard]] bool given() const noexcept { return ids || keys; }
};

// Which of the visible documents may be found: those that the predicate admits (null: all), that are among
// `only`, if any names are given, and not among `without`. Others are not candidates; the statistics of BM25
// stay those of all visible documents.
struct DocumentFilter {
  const filter::Predicate* predicate = nullptr;
  DocumentNames only = {}, without = {};
  [[nodiscard]] bool any() const noexcept { return predicate || only.given() || without.given(); }
};

// Along which way of a link a document is reached: from who links to who is linked, against it, or both.
enum class LinkDirection : uint8_t { out, in, both };

// Rankings by what documents link to (link_graph.hpp).
struct LinkRequest {
  std::string field = "links";
  std::vector<DocumentKey> centres;  // of the ranking by distance; none: there is no such ranking
  uint32_t hops = 3;
  LinkDirection direction = LinkDirection::both;
  bool mentions = false;  // whether what the other rankings hold is ranked by its mentions, too
};

struct SearchRequest {
  std::optional<std::string_view> text;
  std::span<const float> vector;                    // empty: none
  const embed::StaticEmbedder* embedder = nullptr;  // makes the vector of the text if there is no other
  const Scope* scope = nullptr;
  // What several scopes see (visible_together.hpp), in the place of what `scope` sees; ties go by their order.
  std::span<const Scope::Visible> together;
  size_t k = 10;
  bool lexical = true;  // which arms may run
  bool semantic = true;
  size_t lexical_candidates = 0, vector_candidates = 0;  // of each arm's ranking; 0: max(100, k)
  const RankingOptions* ranking = &plain_fusion();
  // Of the caller, best first. A key without a scope names the most specific of the documents with its id
  // that the search may find.
  std::span<const std::vector<DocumentKey>> rankings;
  const LinkRequest* links = nullptr;  // their rankings follow those above; null: none
  // One for each entity that the query names: who has it in the ranking's entity field.
  std::span<const filter::Predicate> entities;
  DocumentFilter filter;
  bool explain = false;
  bool spread = false;          // fill SearchResult::spread, where there is a vector; explain does, too
  bool static_cosines = false;  // but not here, where the range of the similarities is known
  double recall = 0.99;  // of the vector arm, in (0, 1]; 1: the exactly nearest, by scanning every original

  [[nodiscard]] std::span<const Scope::Visible> visible() const noexcept {
    return together.empty() ? std::span(scope->visible_begin(), scope->visible_end()) : together;
  }
};

// Documents in the order of their last writes. Images do not keep it: what is loaded counts as written then.
struct ListRequest {
  const Scope* scope = nullptr;
  bool exact = false;  // of exactly this scope; otherwise all that a search from there sees
  bool newest = true;  // first
  uint64_t after = 0;  // only what is listed behind the document with this write number; 0: from the start
  size_t skip = 0;
  size_t limit = SIZE_MAX;
  DocumentFilter filter;
};

// The graph of a partition. none: no graph. coming: a build is due or under way. growing: an extension by the
// documents written since is due or under way. built: up to date.
enum class GraphState : uint8_t { none, coming, growing, built };

struct EngineStats {
  uint64_t n_docs = 0, n_dead = 0, n_vectors = 0, n_partitions = 0, n_chunks = 0, n_terms = 0, n_postings = 0;
  uint64_t n_graphs = 0;
  uint64_t n_in_graphs = 0, n_graph_extensions = 0;  // vectors; how often since they were built
  uint64_t memory_bytes = 0, text_bytes = 0, vector_bytes = 0, posting_bytes = 0, graph_bytes = 0;
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();

  // --- writing -----------------------------------------------------------------------------------
  // Inserts or replaces documents, in order; of equal keys the last counts: all of them, or none if anything
  // fails. Everything is checked before anything is written: base::InvalidArgument (with the row),
  // base::WrongType. Within a partition new documents appear at once, those that replace others in groups.
  // Returns how many distinct keys were written.
  size_t upsert(std::span<const DocumentInput> documents) { return write(documents).n_docs; }
  // The same, telling the versions. Conditions (`DocumentInput::expected`; of equal keys those of the last
  // one) hold in the writer's turn, or VersionConflict is thrown and nothing is written.
  Written write(std::span<const DocumentInput> documents);
  // The same in two steps: all that needs no writer's turn, and the rest, which is short. `documents` and
  // what they refer to live until after apply(), which may be called once or never; it checks again what
  // other writers may have changed.
  void prepare(std::span<const DocumentInput> documents, PreparedBatch& out) const;
  size_t apply(const PreparedBatch& batch);
  // How many of the keys existed (base::WrongType for an id of the other kind); each is gone from every
  // projection when this returns. One after the other.
  size_t remove(std::span<const DocumentKey> keys) { return remove(keys, {}); }
  // The same; with `versions`, one a key, a document that has another version stays.
  size_t remove(std::span<const DocumentKey> keys, std::span<const uint64_t> versions);
  // Removes every partition that agrees with all components of `scope` (`exact`: only the one with exactly
  // this scope).
  size_t erase(const Scope& scope, bool exact);
  // Rewrites chunks that hold dead documents, beside searches and writes, and drops empty partitions; returns
  // how many dead documents went. Writers wait for the moment in which a chunk is replaced.
  size_t compact();

  // Builds a graph (HNSW) for every partition with at least `min_vectors` vectors, beside searches and
  // writes; returns for how many. Documents written later are scanned beside the graph until it is extended
  // or built again. Not `anew`: graphs that can be are extended.
  size_t build_graphs(size_t min_vectors, bool anew = true);

  // --- residence (residence.cpp) -----------------------------------------------------------------
  // A store keeps the documents, the engine holds partitions while they are needed.
  //
  // Throws what upsert() would throw for invalid documents, and writes nothing.
  void validate(std::span<const DocumentInput> documents) const;
  // The images of the partition of exactly this scope, chunk by chunk; none if it has no documents. Its
  // writers wait. One of its graph follows, if it has one (graph_image.hpp): that is made while writers go
  // on.
  [[nodiscard]] std::vector<std::string> save_partition(const Scope& scope) const;
  // Takes the documents of the images as the partition of `scope`, which must not be here; returns how many.
  // Throws base::Corrupt, and then has changed nothing. A graph that cannot be used is no error:
  // graph_state() tells. To let a partition go again: erase(scope, true).
  size_t load_partition(const ScopeRef& scope, std::span<const std::string_view> images);
  // What the partition of exactly this scope occupies, and what its content amounts to.
  [[nodiscard]] size_t partition_bytes(const Scope& scope) const;
  [[nodiscard]] Digest digest(const Scope& scope) const;
  [[nodiscard]] GraphState graph_state(const Scope& scope) const;

  // --- reading -----------------------------------------------------------------------------------
  [[nodiscard]] SearchResult search(const SearchRequest& request) const {
    return search_row(request, kOnlyRow);
  }
  // On `n_threads` threads, the caller's among them (0: as many as the machine has, which is also the most).
  [[nodiscard]] std::vector<SearchResult> search_batch(std::span<const SearchRequest> requests,
                                                       unsigned n_threads) const;

  // A number that changes with every write that a search from the scope could notice.
  [[nodiscard]] uint64_t generation(const Scope& scope) const;
  // The visible documents that contain a text, ASCII letters in either case, by reading each; score =
  // len(part) / len(document). Mode substring.
  [[nodiscard]] SearchResult find_substring(std::string_view part, const Scope& scope, size_t k) const;

  // One moment of each partition. Costs what it skips and returns, with a filter what the scope holds. Mode
  // none, no scores; `last_write` is where the next page starts.
  [[nodiscard]] SearchResult list(const ListRequest& request) const;
  // The exact scopes that hold documents, or those of them that agree with `within`; in no order.
  [[nodiscard]] std::vector<ScopeRef> scopes(const Scope* within) const;
  // The most specific of the documents with this id that the scope sees.
  [[nodiscard]] std::optional<StoredDocument> get(const Id& id, const Scope& scope) const;
  [[nodiscard]] size_t count(
      const Scope* scope) const;  // what a search from the scope sees; null: everything
  [[nodiscard]] size_t count(const Scope& scope, const DocumentFilter& filter) const;
  [[nodiscard]] EngineStats stats(const Scope* scope) const;

  [[nodiscard]] uint32_t dim() const noexcept { return dim_.load(std::memory_order_acquire); }
  [[nodiscard]] IdKind id_kind() const noexcept { return id_kind_.load(std::memory_order_acquire); }
  [[nodiscard]] const EngineOptions& options() const noexcept { return options_; }
  [[nodiscard]] const text::Analyzer& analyzer() const noexcept { return analyzer_; }

 private:
  struct WriterScratch;
  class Writing;
  class PartitionTurn;
  class CompactionTurn;
  class BatchWrite;

  [[nodiscard]] vector::ColumnOptions column_options() const noexcept;
  [[nodiscard]] ImageIdentity image_identity() const noexcept;
  uint32_t check(std::span<const DocumentInput> documents) const;
  static constexpr size_t kOnlyRow = SIZE_MAX;  // for messages: the argument is one item, not row i of many
  double check_vector(std::span<const float> vector, uint32_t dim, size_t row) const;  // returns its norm
  void check_kind(const Id& id, const char* name, size_t row) const;
  [[nodiscard]] SearchResult search_row(const SearchRequest& request, size_t row) const;
  [[nodiscard]] SearchResult search_embedded(const SearchRequest& request, size_t row) const;
  void choose_last(std::span<const DocumentInput> documents, PreparedBatch& out) const;
  void prepare_vectors(std::span<const DocumentInput> documents, WriterScratch& scratch,
                       PreparedBatch& out) const;
  struct Analysed {
    lexical::KeptTerms::Range terms;
    uint32_t length;
  };
  [[nodiscard]] Analysed analyze_row(PreparedBatch::Document& document,
                                     std::span<const DocumentInput> documents, WriterScratch& scratch,
                                     PreparedBatch& out) const;
  void find_old(PreparedBatch::Document& document, WriterScratch& scratch, PreparedBatch& out) const;
  void prepare_with(std::span<const DocumentInput> documents, WriterScratch& scratch,
                    PreparedBatch& out) const;
  Written apply_with(const PreparedBatch& batch, WriterScratch& scratch);
  void settle(IdKind kind, uint32_t dim);
  void settle_images(std::span<const ChunkRef> chunks);
  [[nodiscard]] Partition& partition_for(const ScopeRef& scope, bool& made);
  void take_from_table(Partition& partition) noexcept;
  [[nodiscard]] bool remove(const DocumentKey& key, uint64_t expected, WriterScratch& scratch);
  [[nodiscard]] std::unique_ptr<WriterScratch> take_scratch() const;
  void keep_scratch(std::unique_ptr<WriterScratch> scratch) const noexcept;
  // compaction.cpp
  struct Maintenance;
  void keep_up(Partition& partition) noexcept;
  void compact_later(Partition& partition, const Chunk& chunk, uint32_t n_killed) noexcept;
  void build_graph_later(Partition& partition) noexcept;
  enum class GraphWork : uint8_t { none, extend, build };
  [[nodiscard]] GraphWork graph_work(const Partition& partition) const noexcept;
  void maintain(Maintenance& own) noexcept;
  void restart_after_fork(bool torn) noexcept;  // upkeep.cpp; in the child, with no other thread
  [[nodiscard]] size_t compact_partition(const Scope& scope, bool thoroughly,
                                         const std::atomic<bool>& stopped);
  [[nodiscard]] size_t drop_if_empty(const Scope& scope);
  [[nodiscard]] size_t replace_chunks(const Scope& scope, class ChunkRewrite& rewrite);
  [[nodiscard]] bool make_graph(const Scope& scope, GraphWork work, const std::atomic<bool>& stopped);
  [[nodiscard]] bool place_graph(const Scope& scope, std::unique_ptr<PartitionGraph> made);
  void check_kind(const DocumentNames& names, const char* argument) const;
  void apply_filter(const DocumentFilter& filter, SearchScratch& scratch) const;
  void find_members(const filter::IdSet& ids, SearchScratch& scratch) const;
  void find_members(const std::vector<DocumentKey>& keys, SearchScratch& scratch) const;

  const EngineOptions options_;
  const text::Analyzer analyzer_;
  std::atomic<uint32_t> dim_;
  std::atomic<IdKind> id_kind_{IdKind::unset};

  // The order of locks stands in turn.hpp.
  std::mutex compaction_mutex_;  // one rewrite at a time
  std::atomic<std::thread::id> compactor_{};
  std::mutex identity_mutex_;  // who settles dim_ and id_kind_
  std::mutex upkeep_mutex_;    // guards maintenance_
  std::unique_ptr<Maintenance> maintenance_;
  std::mutex table_mutex_;  // one change of the partition table at a time
  PartitionTable partitions_;
  IdIndex ids_{fork_gate_};
  std::atomic<uint64_t> next_write_{1};
  mutable std::mutex scratch_mutex_;
  mutable std::vector<std::unique_ptr<WriterScratch>> idle_scratch_;
  mutable base::ForkGate fork_gate_{
      this, [](void* engine, bool torn) noexcept { static_cast<Engine*>(engine)->restart_after_fork(torn); }};
};

}  // namespace scrubjay::engine
