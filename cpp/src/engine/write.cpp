// The write path: checks and prepares everything before the writer's turn (batch_write.hpp has the steps of
// the turn).

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "engine/batch_write.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {
namespace {

// Squares and products of such norms stay finite in single precision.
constexpr double kMaxNorm = 1e18;

std::string position(const char* argument, size_t row, size_t n_rows) {
  return n_rows == 1 ? std::string(argument) : std::string(argument) + "s[" + std::to_string(row) + "]";
}

const char* kind_name(IdKind kind) { return kind == IdKind::integer ? "int" : "str"; }

void check_size(size_t n_bytes, const char* argument, size_t row, size_t n_rows) {
  if (n_bytes <= kMaxTextBytes) return;
  throw base::InvalidArgument(position(argument, row, n_rows) + ": expected at most " +
                              std::to_string(kMaxTextBytes) + " bytes (16 MiB), got " +
                              std::to_string(n_bytes));
}

void check_passages(const DocumentInput& document, size_t row, size_t n_rows) {
  const size_t n = document.passages.size();
  if (n > vector::Passages::kMaxPerDocument) {
    throw base::InvalidArgument(position("vector", row, n_rows) + ": expected at most " +
                                std::to_string(vector::Passages::kMaxPerDocument) + " passages, got " +
                                std::to_string(n));
  }
  if (n != 0 && document.vector.size() % n != 0)
    throw base::InvalidArgument(position("vector", row, n_rows) + ": expected a vector for each passage");
  for (const vector::PassageSpan& span : document.passages) {
    if (span.start > span.end) {
      throw base::InvalidArgument(position("vector", row, n_rows) +
                                  ": expected passages that end behind their start, got " +
                                  std::to_string(span.start) + " to " + std::to_string(span.end));
    }
  }
}

struct KeyHash {
  size_t operator()(const DocumentKey& key) const noexcept { return key_hash(*key.scope, key.id.hash()); }
};
struct SameKey {
  bool operator()(const DocumentKey& a, const DocumentKey& b) const noexcept {
    return a.id == b.id && (a.scope == b.scope || *a.scope == *b.scope);
  }
};

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)), analyzer_(options_.analyzer), dim_(options_.dim) {
  if (options_.dim > vector::kMaxDim) {
    throw base::InvalidArgument("dim: expected 1 to 4096, got " + std::to_string(options_.dim));
  }
  const auto [k1, b] = options_.bm25;
  constexpr double kByLength = lexical::Bm25Parameters::kByLength;
  if (k1 != kByLength && (!(k1 >= 0.0) || !std::isfinite(k1)))
    throw base::InvalidArgument("k1: expected a finite number >= 0, got " + std::to_string(k1));
  if (b != kByLength && !(b >= 0.0 && b <= 1.0))
    throw base::InvalidArgument("b: expected a number from 0 to 1, got " + std::to_string(b));
  idle_scratch_.reserve(4);  // as many as are kept: more concurrent writers are rare
}

vector::ColumnOptions Engine::column_options() const noexcept {
  return {dim(), options_.metric, options_.storage};
}

double Engine::check_vector(std::span<const float> vector, uint32_t dim, size_t row) const {
  const std::string name = row == kOnlyRow ? "vector" : "vectors[" + std::to_string(row) + "]";
  if (vector.size() != dim) {
    throw base::InvalidArgument(name + ": expected " + std::to_string(dim) + " dimensions, got " +
                                std::to_string(vector.size()));
  }
  const double length = vector::norm(vector);  // finite if and only if every element is
  for (size_t i = 0; !std::isfinite(length) && i < vector.size(); ++i) {
    if (std::isfinite(vector[i])) continue;
    throw base::InvalidArgument(name + ": expected finite numbers, got " + std::to_string(vector[i]) +
                                " at position " + std::to_string(i));
  }
  if (length == 0.0) throw base::InvalidArgument(name + ": expected a vector that is not all zeros, got one");
  const double limit =
      options_.metric == vector::Metric::cosine ? std::numeric_limits<float>::max() : kMaxNorm;
  if (length > limit) {
    throw base::InvalidArgument(name + ": expected a norm of at most " + std::to_string(limit) + ", got " +
                                std::to_string(length));
  }
  return length;
}

void Engine::check_kind(const Id& id, const char* name, size_t row) const {
  const IdKind kind = id_kind();
  if (kind == IdKind::unset || id.kind == kind) return;
  throw base::WrongType(std::string(name) + (row == kOnlyRow ? "" : "s[" + std::to_string(row) + "]") +
                        ": expected " + kind_name(kind) + " like the ids of this index, got " +
                        kind_name(id.kind) + " " + id.to_string());
}

// Checks everything about the documents except the elements of their vectors. Returns the dimension of the
// vectors, or that of the engine.
uint32_t Engine::check(std::span<const DocumentInput> documents) const {
  IdKind kind = id_kind();
  uint32_t dim = this->dim();
  const size_t n = documents.size();
  for (size_t row = 0; row < n; ++row) {
    const DocumentInput& document = documents[row];
    if (kind == IdKind::unset) kind = document.id.kind;
    if (document.id.kind != kind) {
      throw base::WrongType(position("id", row, n) + ": expected " + kind_name(kind) +
                            " like the ids before it, got " + kind_name(document.id.kind) + " " +
                            document.id.to_string());
    }
    if (document.id.kind == IdKind::string &&
        (document.id.string.empty() || document.id.string.size() > 65535)) {
      throw base::InvalidArgument(position("id", row, n) + ": expected 1 to 65,535 bytes, got " +
                                  std::to_string(document.id.string.size()));
    }
    check_size(document.text.size(), "text", row, n);
    if (document.payload) check_size(document.payload->size(), "payload", row, n);
    if (document.vector.empty()) continue;
    check_passages(document, row, n);
    if (dim == 0) dim = static_cast<uint32_t>(document.dim());
    if (dim > vector::kMaxDim)
      throw base::InvalidArgument(position("vector", row, n) + ": expected at most 4096 dimensions, got " +
                                  std::to_string(dim));
  }
  return dim;
}

void Engine::validate(std::span<const DocumentInput> documents) const {
  const uint32_t dim = check(documents);
  for (size_t row = 0; row < documents.size(); ++row) {
    const DocumentInput& document = documents[row];
    const size_t n_rows = std::max<size_t>(document.passages.size(), 1);
    for (size_t i = 0; i < n_rows && !document.vector.empty(); ++i) {
      check_vector(document.vector.subspan(i * document.dim(), document.dim()), dim,
                   documents.size() == 1 ? kOnlyRow : row);
    }
  }
}

std::unique_ptr<Engine::WriterScratch> Engine::take_scratch() const {
  {
    const std::lock_guard lock(scratch_mutex_);
    if (!idle_scratch_.empty()) {
      auto scratch = std::move(idle_scratch_.back());
      idle_scratch_.pop_back();
      return scratch;
    }
  }
  return std::make_unique<WriterScratch>();
}

void Engine::keep_scratch(std::unique_ptr<WriterScratch> scratch) const noexcept {
  scratch->trim();
  const std::lock_guard lock(scratch_mutex_);
  if (idle_scratch_.size() < idle_scratch_.capacity()) idle_scratch_.push_back(std::move(scratch));
}

void Engine::WriterScratch::trim() noexcept {
  constexpr size_t kUsualBytes = size_t{1} << 20;
  batch.clear();
  late.clear();
  analysis.trim(kUsualBytes);
  if (tokens.capacity() * sizeof(text::Token) > kUsualBytes) (void)std::exchange(tokens, {});
  if (counter.memory_bytes() > kUsualBytes) (void)std::exchange(counter, lexical::TermCounter());
  if (batch.memory_bytes() > kUsualBytes) (void)std::exchange(batch, PreparedBatch());
  if (late.memory_bytes() > kUsualBytes) (void)std::exchange(late, lexical::KeptTerms());
}

VersionConflict::VersionConflict(const DocumentInput& written, uint64_t found_version)
    : base::Error("id " + written.id.to_string() + ": expected version " + std::to_string(written.expected) +
                  ", found " + std::to_string(found_version)),
      document(&written),
      found(found_version) {}

Written Engine::write(std::span<const DocumentInput> documents) {
  Writing writing(*this);
  WriterScratch& scratch = writing.scratch();
  prepare_with(documents, scratch, scratch.batch);
  return apply_with(scratch.batch, scratch);
}

void Engine::prepare(std::span<const DocumentInput> documents, PreparedBatch& out) const {
  Writing writing(*this);
  prepare_with(documents, writing.scratch(), out);
}

size_t Engine::apply(const PreparedBatch& batch) {
  if (batch.engine() != this) throw base::InvalidArgument("prepared: expected documents of this engine");
  Writing writing(*this);
  return apply_with(batch, writing.scratch()).n_docs;
}

Written Engine::apply_with(const PreparedBatch& batch, WriterScratch& scratch) {
  Written written;
  if (!batch.documents().empty())
    written = {batch.documents().size(), BatchWrite(*this, batch, scratch).run()};
  // A huge text replaces much data: its writer frees it, not the next one.
  constexpr size_t kHuge = size_t{1} << 18;
  if (batch.memory_bytes() > kHuge) base::collect_retired();
  return written;
}

void Engine::prepare_with(std::span<const DocumentInput> documents, WriterScratch& scratch,
                          PreparedBatch& out) const {
  out.clear();
  out.vectors_ = {check(documents), options_.metric, options_.storage};
  choose_last(documents, out);
  prepare_vectors(documents, scratch, out);
  for (PreparedBatch::Document& document : out.documents_) {
    base::interruption_point();
    const auto [terms, length] = analyze_row(document, documents, scratch, out);
    document.terms = terms;
    document.length = length;
  }
  for (PreparedBatch::Document& document : out.documents_) {
    base::interruption_point();
    find_old(document, scratch, out);
  }
  out.engine_ = this;
}

// Of equal keys the last one counts, at its position.
void Engine::choose_last(std::span<const DocumentInput> documents, PreparedBatch& out) const {
  out.id_kind_ = documents.empty() ? IdKind::unset : documents[0].id.kind;
  out.documents_.reserve(documents.size());
  if (documents.size() == 1) {
    out.documents_.emplace_back().input = documents.data();
    return;
  }
  std::unordered_map<DocumentKey, const DocumentInput*, KeyHash, SameKey> last;
  last.reserve(documents.size());
  for (const DocumentInput& document : documents) last[document.key()] = &document;
  for (const DocumentInput& document : documents) {
    if (last.size() == documents.size() || last.find(document.key())->second == &document)
      out.documents_.emplace_back().input = &document;
  }
}

// Checks the vectors of all documents, including those that do not count: an invalid vector is an
// error anywhere. Copies first: the checked copy is the one that is stored, even if the caller's
// array changes meanwhile.
void Engine::prepare_vectors(std::span<const DocumentInput> documents, WriterScratch& scratch,
                             PreparedBatch& out) const {
  const size_t row_bytes = out.vectors_.row_bytes();
  size_t next = 0, n_rows = 0;
  for (const PreparedBatch::Document& document : out.documents_) {
    if (!document.input->vector.empty()) n_rows += std::max<size_t>(document.input->passages.size(), 1);
  }
  out.rows_.resize(n_rows * row_bytes);
  n_rows = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    PreparedBatch::Document* document = nullptr;
    if (next < out.documents_.size() && out.documents_[next].input == &documents[i])
      document = &out.documents_[next++];
    if (documents[i].vector.empty()) continue;
    const std::span<const vector::PassageSpan> passages = documents[i].passages;
    if (document) {
      document->row = n_rows;
      document->first_passage = out.spans_.size();
      document->n_passages = passages.size();
      out.spans_.insert(out.spans_.end(), passages.begin(), passages.end());
    }
    const size_t dim = documents[i].dim();
    for (size_t passage = 0; passage < std::max<size_t>(passages.size(), 1); ++passage) {
      const std::span<const float> vector = documents[i].vector.subspan(passage * dim, dim);
      scratch.vector.assign(vector.begin(), vector.end());
      check_vector(scratch.vector, out.vectors_.dim, documents.size() == 1 ? kOnlyRow : i);
      if (!document) continue;
      document->scale =
          vector::encode_row(out.vectors_, scratch.vector, out.rows_.data() + n_rows++ * row_bytes);
      if (!passages.empty()) out.scales_.push_back(document->scale);
    }
  }
}

Engine::Analysed Engine::analyze_row(PreparedBatch::Document& document,
                                     std::span<const DocumentInput> documents, WriterScratch& scratch,
                                     PreparedBatch& out) const {
  document.text = document.input->text;
  const auto row = static_cast<size_t>(document.input - documents.data());
  if (text::valid_utf8_prefix(document.text) != document.text.size()) {
    document.text = out.sanitized_.emplace_back(text::sanitize_utf8(document.text));
    check_size(document.text.size(), "text", row, documents.size());
  }
  try {
    return scratch.analyze(analyzer_, document.text, document.input->payload, out.terms_);
  } catch (const text::TextTooLarge& error) {
    throw base::InvalidArgument(position("text", row, documents.size()) + ": " + error.what());
  }
}

// Finds the document that this one replaces, if it exists by now, and its terms.
void Engine::find_old(PreparedBatch::Document& document, WriterScratch& scratch, PreparedBatch& out) const {
  std::string_view text;
  std::optional<std::string_view> payload;
  {
    const base::EpochGuard guard;
    const Scope& scope = *document.input->scope;
    if (const Partition* partition = partitions_.find(scope.key(), scope.hash())) {
      ids_.look_up(*partition, document.input->id, [&](const Location& location) {
        const Chunk& chunk = partition->chunk_at(serial_of(location.doc));
        if (offset_of(location.doc) >= chunk.n_docs()) return;  // announced but not published
        document.old_chunk = ChunkRef(&chunk);
        document.old_offset = offset_of(location.doc);
        text = chunk.text(document.old_offset);
        payload = chunk.payload(document.old_offset);
      });
    }
  }
  if (document.old_chunk.get())
    document.old_terms = scratch.analyze(analyzer_, text, payload, out.terms_).terms;
}

// Fixes the properties that the first documents determine for all later ones.
void Engine::settle(IdKind kind, uint32_t dim) {
  if (kind == id_kind() && (dim == 0 || dim == this->dim())) return;
  const std::lock_guard lock(identity_mutex_);
  if (const IdKind current = id_kind(); current != IdKind::unset && current != kind) {
    throw base::WrongType(std::string("id: expected ") + kind_name(current) +
                          " like the ids of this index, got " + kind_name(kind));
  }
  if (const uint32_t own = this->dim(); own != 0 && dim != 0 && own != dim) {
    throw base::InvalidArgument("vector: expected " + std::to_string(own) + " dimensions, got " +
                                std::to_string(dim));
  }
  id_kind_.store(kind, std::memory_order_release);
  if (dim != 0) dim_.store(dim, std::memory_order_release);
}

Partition& Engine::partition_for(const ScopeRef& scope, bool& made) {
  if (Partition* partition = partitions_.find(scope->key(), scope->hash())) return *partition;
  auto partition = std::make_unique<Partition>(scope, options_.chunk_docs);
  if (!IdMap::holds(partition.get())) throw base::Error("expected memory addresses of at most 52 bits");
  const std::lock_guard lock(table_mutex_);
  if (Partition* other = partitions_.find(scope->key(), scope->hash())) return *other;
  made = true;
  return partitions_.insert(std::move(partition));
}

// The caller must have the partition's turn.
void Engine::take_from_table(Partition& partition) noexcept {
  partition.set_removed();
  const std::lock_guard lock(table_mutex_);
  partitions_.remove(partition);
}

size_t Engine::remove(std::span<const DocumentKey> keys, std::span<const uint64_t> versions) {
  for (size_t i = 0; i < keys.size(); ++i) check_kind(keys[i].id, "id", keys.size() == 1 ? kOnlyRow : i);
  Writing writing(*this);
  size_t n_removed = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    base::interruption_point();
    const uint64_t expected = versions.empty() ? kAnyVersion : versions[i];
    n_removed += remove(keys[i], expected, writing.scratch()) ? 1 : 0;
  }
  return n_removed;
}

bool Engine::remove(const DocumentKey& key, uint64_t expected, WriterScratch& scratch) {
  const Id& id = key.id;
  lexical::KeptTerms& late_terms = scratch.late;
  const base::EpochGuard guard;
  for (;;) {
    // The text of the document is analysed before the turn. If it was replaced or its chunk rewritten
    // meanwhile, start again.
    Partition* const partition = partitions_.find(key.scope->key(), key.scope->hash());
    if (!partition) return false;
    std::optional<LocalDoc> doc;
    ChunkRef analysed;
    std::string_view text;
    std::optional<std::string_view> payload;
    ids_.look_up(*partition, id, [&](const Location& location) {
      doc = location.doc;
      const Chunk& chunk = partition->chunk_at(serial_of(location.doc));
      if (offset_of(location.doc) >= chunk.n_docs()) return;  // announced but not published
      analysed = ChunkRef(&chunk);
      text = chunk.text(offset_of(location.doc));
      payload = chunk.payload(offset_of(location.doc));
    });
    if (!doc) return false;
    late_terms.clear();
    lexical::KeptTerms::Range terms;
    if (analysed.get()) terms = scratch.analyze(analyzer_, text, payload, late_terms).terms;

    const PartitionTurn turn(*this, *partition);
    const std::optional<Location> now = turn.get() ? ids_.find(*partition, id) : std::nullopt;
    if (!now) continue;
    Chunk& chunk = partition->chunk(serial_of(now->doc));
    const uint32_t offset = offset_of(now->doc);
    if (expected != kAnyVersion && chunk.write(offset) != expected) return false;
    if (&chunk != analysed.get() || now->doc != *doc) {
      late_terms.clear();
      terms = scratch.analyze(analyzer_, chunk.text(offset), chunk.payload(offset), late_terms).terms;
    }
    auto dead = chunk.copy_dead();
    dead->set(offset);
    {
      const Partition::Publication publication(*partition);
      chunk.kill(offset, late_terms[terms]);
      dead = chunk.replace_dead(std::move(dead));
    }
    ids_.erase(id, *now);
    base::retire(std::move(dead));
    compact_later(*partition, chunk, 1);
    return true;
  }
}

}  // namespace scrubjay::engine
