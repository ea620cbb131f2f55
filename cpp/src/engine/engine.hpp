// Engine: the whole native core behind one class: documents in, ranked documents out.
//
// Thread-safe throughout. Writers take turns; searches take no lock and never wait for a writer's work. A
// write is visible to every search that starts after it returned. Knows nothing of Python.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "embed/static_embedder.hpp"
#include "engine/id_map.hpp"
#include "engine/image.hpp"
#include "engine/partition_table.hpp"
#include "engine/planner.hpp"
#include "engine/ranking_options.hpp"
#include "engine/result.hpp"
#include "filter/id_set.hpp"
#include "filter/predicate.hpp"
#include "lexical/bm25.hpp"
#include "text/analyzer.hpp"
#include "vector/column.hpp"

namespace scrubjay::engine {

struct SearchScratch;

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

struct DocumentInput {
  Id id;
  std::string_view text;  // any bytes: what is not UTF-8 becomes U+FFFD
  std::optional<std::string_view> payload;
  ScopeRef scope;
  std::span<const float> vector;  // empty: none
};

// Which of the visible documents may be found: those that the predicate admits, whose id is in `ids` and is
// not in `without_ids`. Null: no such condition. Others are not candidates; the statistics of BM25 stay those
// of all visible documents.
struct DocumentFilter {
  const filter::Predicate* predicate = nullptr;
  const filter::IdSet* ids = nullptr;
  const filter::IdSet* without_ids = nullptr;
  [[nodiscard]] bool any() const noexcept { return predicate || ids || without_ids; }
};

struct SearchRequest {
  std::optional<std::string_view> text;
  std::span<const float> vector;                    // empty: none
  const embed::StaticEmbedder* embedder = nullptr;  // makes the vector of the text if there is no other
  const Scope* scope = nullptr;
  size_t k = 10;
  bool lexical = true;  // which arms may run
  bool semantic = true;
  size_t candidates = 0;  // per arm; 0: max(100, k)
  const RankingOptions* ranking = &plain_fusion();
  std::span<const std::vector<Id>> rankings;  // of the caller, best first
  // One for each entity that the query names: who has it in the ranking's entity field.
  std::span<const filter::Predicate> entities;
  DocumentFilter filter;
  bool explain = false;
  double recall = 0.99;  // of the vector arm, in (0, 1]; 1: the exactly nearest, by scanning every original
};

// Of a partition: coming while its upkeep is due or under way, which may end in a graph; growing while the
// one that is there is to take in what was written beside it.
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
  // Inserts or replaces documents, in order; of equal ids the last counts. Everything is checked before
  // anything is written: base::InvalidArgument (with the row), base::WrongType, base::Conflict (an id that
  // lives in another scope). Returns how many distinct ids were written.
  size_t upsert(std::span<const DocumentInput> documents);
  // How many of the ids existed (base::WrongType for an id of the other kind); each is gone from every
  // projection when this returns.
  size_t remove(std::span<const Id> ids);
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

  // --- residence: a store keeps the documents, the engine holds partitions while they are needed
  // (residence.cpp) ----- Throws what upsert() would throw for what is wrong with the documents themselves,
  // and writes nothing.
  void validate(std::span<const DocumentInput> documents) const;
  // The images of the partition of exactly this scope, chunk by chunk; none if it has no documents. Writers
  // wait. One of its graph follows, if it has one (graph_image.hpp): that is made while writers go on.
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
  // The visible documents that contain a text, ASCII letters in either case, by looking at each; the score is
  // the share of the document that it is. Mode substring.
  [[nodiscard]] SearchResult find_substring(std::string_view part, const Scope& scope, size_t k) const;

  [[nodiscard]] std::optional<StoredDocument> get(const Id& id) const;
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
  class WriteLock;

  [[nodiscard]] vector::ColumnOptions column_options() const noexcept;
  [[nodiscard]] ImageIdentity image_identity() const noexcept;
  void check(std::span<const DocumentInput> documents) const;
  static constexpr size_t kOnlyRow = SIZE_MAX;  // for messages: the argument is one item, not row i of many
  double check_vector(std::span<const float> vector, uint32_t dim, size_t row) const;  // returns its norm
  void check_kind(const Id& id, const char* name, size_t row) const;
  [[nodiscard]] SearchResult search_row(const SearchRequest& request, size_t row) const;
  [[nodiscard]] SearchResult search_embedded(const SearchRequest& request, size_t row) const;
  void check_conflicts(std::span<const DocumentInput> documents) const;
  [[nodiscard]] Partition& partition_for(const ScopeRef& scope);
  void write(const DocumentInput& document);
  void kill(Location location, const Id& id);
  // compaction.cpp
  struct Maintenance;
  void keep_up(Partition& partition) noexcept;
  void compact_later(Partition& partition, const Chunk& chunk) noexcept;
  void build_graph_later(Partition& partition, const Chunk& chunk) noexcept;
  enum class GraphWork : uint8_t { none, extend, build };
  [[nodiscard]] GraphWork graph_work(const Partition& partition) const noexcept;
  void maintain(Maintenance& own) noexcept;
  [[nodiscard]] size_t compact_partition(const Scope& scope, bool thoroughly,
                                         const std::atomic<bool>& stopped);
  [[nodiscard]] size_t drop_if_empty(const Scope& scope);
  [[nodiscard]] size_t replace_chunks(const Scope& scope, class ChunkRewrite& rewrite);
  [[nodiscard]] bool make_graph(const Scope& scope, GraphWork work, const std::atomic<bool>& stopped);
  [[nodiscard]] bool place_graph(const Scope& scope, std::unique_ptr<PartitionGraph> made);
  [[nodiscard]] std::span<const lexical::TermCount> analyze(std::string_view text);
  [[nodiscard]] std::optional<Location> find(const Id& id) const;
  void check_kind(const filter::IdSet* ids, const char* name) const;
  void apply_filter(const DocumentFilter& filter, SearchScratch& scratch) const;
  void find_members(const filter::IdSet& ids, SearchScratch& scratch) const;

  const EngineOptions options_;
  const text::Analyzer analyzer_;
  std::atomic<uint32_t> dim_;
  std::atomic<IdKind> id_kind_{IdKind::unset};

  std::mutex write_mutex_;  // one writer at a time
  std::atomic<std::thread::id> writer_{};
  std::unique_ptr<WriterScratch> writer_scratch_;
  std::mutex compaction_mutex_;  // one rewrite at a time; taken before write_mutex_
  std::unique_ptr<Maintenance> maintenance_;
  PartitionTable partitions_;
  mutable std::shared_mutex ids_mutex_;  // held for single look-ups and changes
  IdMap ids_;
};

}  // namespace scrubjay::engine
