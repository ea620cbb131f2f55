// Engine: the public class of the native core. Documents in, ranked documents out.
//
// Thread-safe throughout. Writers of one partition take turns, and share almost nothing with writers of other
// partitions (turn.hpp); searches take no lock and never wait for a writer. A write is visible to every
// search that starts after the write returned. Long calls pass interruption points (base/interruption.hpp);
// an engine stays usable in the child of a fork (base/fork.hpp). Knows nothing of Python.
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

// Limit for a text (before and after invalid UTF-8 is replaced by U+FFFD) and for a payload: 16 MiB.
inline constexpr size_t kMaxTextBytes = size_t{1} << 24;

struct EngineOptions {
  uint32_t dim = 0;  // 0: taken from the first vector
  vector::Metric metric = vector::Metric::cosine;
  vector::Storage storage = vector::Storage::f16;
  text::AnalyzerOptions analyzer;
  lexical::Bm25Parameters bm25;
  uint32_t chunk_docs = kMaxChunkDocs;  // small in tests
  VectorPlan vector_plan = VectorPlan::automatic;
  uint64_t graph_bytes = planner::kGraphBytes;  // small in tests
  bool background = false;  // compact and build graphs on a background thread (upkeep.cpp)
};

// The version of a document is its last write number: at least 1, and ascending over an engine. A conditional
// write expects a version, absence (kAbsent) or nothing (kAnyVersion).
inline constexpr uint64_t kAbsent = 0;
inline constexpr uint64_t kAnyVersion = UINT64_MAX;

// The key of a document.
struct DocumentKey {
  const Scope* scope = nullptr;  // this exact scope
  Id id;
};

struct DocumentInput {
  Id id;
  std::string_view text;  // any bytes: invalid UTF-8 becomes U+FFFD
  std::optional<std::string_view> payload;
  ScopeRef scope;
  std::span<const float> vector;  // empty: no vector
  uint64_t expected = kAnyVersion;
  // If not empty: `vector` holds one vector for each of these passages, concatenated.
  std::span<const vector::PassageSpan> passages{};

  // Dimension of one vector.
  [[nodiscard]] size_t dim() const noexcept {
    return passages.empty() ? vector.size() : vector.size() / passages.size();
  }
  [[nodiscard]] DocumentKey key() const noexcept { return {scope.get(), id}; }
};

// A rejected conditional write: the document does not have the version that its writer expected.
struct VersionConflict : base::Error {
  VersionConflict(const DocumentInput& written, uint64_t found_version);
  const DocumentInput* document;  // in the batch
  uint64_t found;                 // the actual version; kAbsent: no such document
};

// Result of a batch: its distinct documents, in order, have consecutive versions.
struct Written {
  size_t n_docs = 0;
  uint64_t first_version = 0;
};

// Documents named by a caller: by id in any scope, and by key. Null: not named in this way.
struct DocumentNames {
  const filter::IdSet* ids = nullptr;
  const std::vector<DocumentKey>* keys = nullptr;  // with scopes
  [[nodiscard]] bool given() const noexcept { return ids || keys; }
};

// Restricts the visible documents that may be found: to those that the predicate admits (null: all), that are
// among `only` (if it names any), and not among `without`. Other documents are not candidates; BM25
// statistics are still those of all visible documents.
struct DocumentFilter {
  const filter::Predicate* predicate = nullptr;
  DocumentNames only = {}, without = {};
  [[nodiscard]] bool any() const noexcept { return predicate || only.given() || without.given(); }
};

// Direction in which links are followed: from the linking document to the linked one (out), the reverse (in),
// or both.
enum class LinkDirection : uint8_t { out, in, both };

// Rankings by what documents link to (link_graph.hpp).
struct LinkRequest {
  std::string field = "links";
  std::vector<DocumentKey> centres;  // for the ranking by distance; empty: no such ranking
  uint32_t hops = 3;
  LinkDirection direction = LinkDirection::both;
  bool mentions = false;  // also rank the documents of the other rankings by their mentions
};

struct SearchRequest {
  std::optional<std::string_view> text;
  std::span<const float> vector;                    // empty: no vector
  const embed::StaticEmbedder* embedder = nullptr;  // embeds the text if there is no vector
  const Scope* scope = nullptr;
  // What several scopes see (visible_together.hpp), instead of what `scope` sees; ties are broken
  // by their order.
  std::span<const Scope::Visible> together;
  size_t k = 10;
  bool lexical = true;  // arms that may run
  bool semantic = true;
  size_t lexical_candidates = 0, vector_candidates = 0;  // size of each arm's ranking; 0: max(100, k)
  const RankingOptions* ranking = &plain_fusion();
  // The caller's rankings, best first. A key without a scope names the most specific document with its id
  // that the search may find.
  std::span<const std::vector<DocumentKey>> rankings;
  const LinkRequest* links = nullptr;  // its rankings follow those above; null: none
  // One predicate per entity that the query names, on the ranking's entity field.
  std::span<const filter::Predicate> entities;
  DocumentFilter filter;
  bool explain = false;
  bool spread = false;          // fill SearchResult::spread if there is a vector; explain does, too
  bool static_cosines = false;  // except for static embeddings, whose range of similarities is known
  double recall = 0.99;         // of the vector arm, in (0, 1]; 1: exact, by scanning all originals

  [[nodiscard]] std::span<const Scope::Visible> visible() const noexcept {
    return together.empty() ? std::span(scope->visible_begin(), scope->visible_end()) : together;
  }
};

// Lists documents in the order of their last writes. Images do not preserve this order: loaded documents
// count as written at the time of loading.
struct ListRequest {
  const Scope* scope = nullptr;
  bool exact = false;  // only this exact scope; otherwise all that a search from it sees
  bool newest = true;  // newest first
  uint64_t after = 0;  // only documents listed after the one with this write number; 0: from the start
  size_t skip = 0;
  size_t limit = SIZE_MAX;
  DocumentFilter filter;
};

// State of a partition's graph. none: no graph. coming: build pending or running. growing: extension by newer
// documents pending or running. built: up to date.
enum class GraphState : uint8_t { none, coming, growing, built };

struct EngineStats {
  uint64_t n_docs = 0, n_dead = 0, n_vectors = 0, n_partitions = 0, n_chunks = 0, n_terms = 0, n_postings = 0;
  uint64_t n_graphs = 0;
  uint64_t n_in_graphs = 0, n_graph_extensions = 0;  // vectors in graphs; extensions since they were built
  uint64_t memory_bytes = 0, text_bytes = 0, vector_bytes = 0, posting_bytes = 0, graph_bytes = 0;
};

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();

  // --- writing -----------------------------------------------------------------------------------
  //
  // Inserts or replaces documents, in order: all or nothing. Of equal keys the last one counts. Everything is
  // checked before anything is written: base::InvalidArgument (with the row), base::WrongType. Within a
  // partition, new documents become visible at once, replacements in groups. Returns the number of distinct
  // keys written.
  size_t upsert(std::span<const DocumentInput> documents) { return write(documents).n_docs; }
  // Same as upsert(), and returns the versions. Conditions (`DocumentInput::expected`; of equal keys
  // that of the last one) are checked in the writer's turn; if one is not met, throws VersionConflict
  // and writes nothing.
  Written write(std::span<const DocumentInput> documents);
  // Same as upsert(), in two steps: all the work that needs no writer's turn, then the rest, which is short.
  // `documents` and what they refer to must live until after apply(), which may be called at most once; it
  // checks again what other writers may have changed.
  void prepare(std::span<const DocumentInput> documents, PreparedBatch& out) const;
  size_t apply(const PreparedBatch& batch);
  // Removes documents one after the other; returns how many of the keys existed. When it returns, they are
  // gone from every projection. Throws base::WrongType for an id of the other kind.
  size_t remove(std::span<const DocumentKey> keys) { return remove(keys, {}); }
  // Same; with `versions`, one for each key, a document with another version is not removed.
  size_t remove(std::span<const DocumentKey> keys, std::span<const uint64_t> versions);
  // Removes every partition within `scope`, or with `exact` only the partition of exactly this scope.
  size_t erase(const Scope& scope, bool exact);
  // Rewrites chunks with deleted documents, concurrently with searches and writes, and drops empty
  // partitions. Returns the number of deleted documents that were purged. Writers wait only while a
  // chunk is replaced.
  size_t compact();

  // Builds a graph (HNSW) for every partition with at least `min_vectors` vectors, concurrently with searches
  // and writes; returns the number of graphs. Documents written later are scanned beside the graph until it
  // is extended or rebuilt. With `anew` false, existing graphs are extended where possible.
  size_t build_graphs(size_t min_vectors, bool anew = true);

  // --- residency (residence.cpp) -----------------------------------------------------------------
  // A store keeps the documents; the engine holds partitions while they are needed.
  //
  // Throws what upsert() would throw for invalid documents, but writes nothing.
  void validate(std::span<const DocumentInput> documents) const;
  // Returns the images of the partition of exactly this scope, chunk by chunk; none if it has no documents.
  // Its writers wait meanwhile. If it has a graph, the image of the graph follows (graph_image.hpp), which is
  // made while writers continue.
  [[nodiscard]] std::vector<std::string> save_partition(const Scope& scope) const;
  // Loads the documents of the images as the partition of `scope`, which must not be resident; returns their
  // number. Throws base::Corrupt and then has changed nothing. An unusable graph is not an error: see
  // graph_state(). To evict the partition: erase(scope, true).
  size_t load_partition(const ScopeRef& scope, std::span<const std::string_view> images);
  // The same for images that arrived in pieces. They are unusable afterwards.
  size_t load_partition(const ScopeRef& scope, std::span<ArrivingImage> images);
  [[nodiscard]] ArrivingImage arriving_image(const ScopeRef& scope, size_t n_bytes) const {
    return {scope, image_identity(), n_bytes};
  }
  // Memory of the partition of exactly this scope, and the digest of its content.
  [[nodiscard]] size_t partition_bytes(const Scope& scope) const;
  [[nodiscard]] Digest digest(const Scope& scope) const;
  [[nodiscard]] GraphState graph_state(const Scope& scope) const;

  // --- reading -----------------------------------------------------------------------------------
  [[nodiscard]] SearchResult search(const SearchRequest& request) const {
    return search_row(request, kOnlyRow);
  }
  // Uses `n_threads` threads including the caller's (0: as many as the machine has cores, which is
  // also the maximum).
  [[nodiscard]] std::vector<SearchResult> search_batch(std::span<const SearchRequest> requests,
                                                       unsigned n_threads) const;

  // A number that changes with every write that could affect a search from the scope.
  [[nodiscard]] uint64_t generation(const Scope& scope) const;
  // Returns the visible documents that contain a text, ignoring the case of ASCII letters, by scanning each;
  // score = len(part) / len(document). Mode substring.
  [[nodiscard]] SearchResult find_substring(std::string_view part, const Scope& scope, size_t k) const;

  // Lists documents; each partition is read at one point in time. Cost is proportional to what it skips and
  // returns, with a filter to what the scope holds. Mode none, no scores; `last_write` is the cursor for the
  // next page.
  [[nodiscard]] SearchResult list(const ListRequest& request) const;
  // Returns the exact scopes that hold documents, or those of them within `within`; in no order.
  [[nodiscard]] std::vector<ScopeRef> scopes(const Scope* within) const;
  // Returns the most specific document with this id that is visible from the scope.
  [[nodiscard]] std::optional<StoredDocument> get(const Id& id, const Scope& scope) const;
  [[nodiscard]] size_t count(const Scope* scope) const;  // visible from the scope; null: all documents
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
  struct LoadedImages;
  [[nodiscard]] size_t install(const ScopeRef& scope, LoadedImages& loaded);
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
  void maintain(Maintenance& state) noexcept;
  void restart_after_fork(bool torn) noexcept;  // upkeep.cpp; in the child, with no other thread
  [[nodiscard]] size_t compact_partition(const Scope& scope, bool thoroughly,
                                         const std::atomic<bool>& stopped);
  [[nodiscard]] size_t drop_if_empty(const Scope& scope);
  [[nodiscard]] size_t replace_chunks(const Scope& scope, class ChunkRewrite& rewrite);
  [[nodiscard]] bool make_graph(const Scope& scope, GraphWork work, const std::atomic<bool>& stopped);
  [[nodiscard]] bool place_graph(const Scope& scope, std::unique_ptr<PartitionGraph> partition_graph);
  void check_kind(const DocumentNames& names, const char* argument) const;
  void apply_filter(const DocumentFilter& filter, SearchScratch& scratch) const;
  void find_members(const filter::IdSet& ids, SearchScratch& scratch) const;
  void find_members(const std::vector<DocumentKey>& keys, SearchScratch& scratch) const;

  const EngineOptions options_;
  const text::Analyzer analyzer_;
  std::atomic<uint32_t> dim_;
  std::atomic<IdKind> id_kind_{IdKind::unset};

  // Lock order: turn.hpp.
  std::mutex compaction_mutex_;  // one rewrite at a time
  std::atomic<std::thread::id> compactor_{};
  std::mutex identity_mutex_;  // guards changes of dim_ and id_kind_
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
