// The write path: check everything, prepare invisibly, publish in a handful of stores.

#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"
#include "text/utf8.hpp"

namespace scrubjay::engine {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;
// Squares and products of such norms stay finite in single precision.
constexpr double kMaxNorm = 1e18;

std::string position(const char* argument, size_t row, size_t n_rows) {
  return n_rows == 1 ? std::string(argument) : std::string(argument) + "s[" + std::to_string(row) + "]";
}

const char* kind_name(IdKind kind) { return kind == IdKind::integer ? "int" : "str"; }

struct IdHash {
  size_t operator()(const Id& id) const noexcept { return id.hash(); }
};

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      analyzer_(options_.analyzer),
      dim_(options_.dim),
      writer_scratch_(std::make_unique<WriterScratch>()) {
  if (options_.dim > vector::kMaxDim) {
    throw base::InvalidArgument("dim: expected 1 to 4096, got " + std::to_string(options_.dim));
  }
  const auto [k1, b] = options_.bm25;
  if (!(k1 >= 0.0) || !std::isfinite(k1))
    throw base::InvalidArgument("k1: expected a finite number >= 0, got " + std::to_string(k1));
  if (!(b >= 0.0 && b <= 1.0))
    throw base::InvalidArgument("b: expected a number from 0 to 1, got " + std::to_string(b));
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
                        ": expected " + kind_name(kind) + " like the ids of this engine, got " +
                        kind_name(id.kind) + " " + id.to_string());
}

void Engine::check(std::span<const DocumentInput> documents) const {
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
    if (document.text.size() > kMaxTextBytes) {
      throw base::InvalidArgument(position("text", row, n) + ": expected at most 1 GiB, got " +
                                  std::to_string(document.text.size()) + " bytes");
    }
    if (document.payload && document.payload->size() > kMaxTextBytes) {
      throw base::InvalidArgument(position("payload", row, n) + ": expected at most 1 GiB, got " +
                                  std::to_string(document.payload->size()) + " bytes");
    }
    if (document.vector.empty()) continue;
    if (dim == 0) dim = static_cast<uint32_t>(document.vector.size());
    if (dim > vector::kMaxDim)
      throw base::InvalidArgument(position("vector", row, n) + ": expected at most 4096 dimensions, got " +
                                  std::to_string(dim));
    check_vector(document.vector, dim, n == 1 ? kOnlyRow : row);
  }
}

// An id never moves from one scope to another: that would let one tenant overwrite what another wrote.
void Engine::check_conflicts(std::span<const DocumentInput> documents) const {
  const auto refuse = [](const DocumentInput& document) {
    throw base::Conflict(
        "id: " + document.id.to_string() +
        " exists in another scope; expected a new id, or the scope that holds it (delete it there first)");
  };
  std::unordered_map<Id, const Scope*, IdHash> seen;
  for (const DocumentInput& document : documents) {
    if (const auto location = find(document.id);
        location && !(*location->partition->scope() == *document.scope))
      refuse(document);
    if (documents.size() == 1) return;
    const auto [entry, inserted] = seen.try_emplace(document.id, document.scope.get());
    if (!inserted && !(*entry->second == *document.scope)) refuse(document);
  }
}

std::optional<Location> Engine::find(const Id& id) const {
  const std::shared_lock lock(ids_mutex_);
  return ids_.find(id);
}

size_t Engine::upsert(std::span<const DocumentInput> documents) {
  check(documents);
  const WriteLock lock(*this);
  check(documents);  // another writer may have settled the kind of ids or the dimension meanwhile
  const base::EpochGuard guard;
  check_conflicts(documents);
  {
    const std::unique_lock ids_lock(ids_mutex_);
    ids_.reserve(documents.size());
  }
  std::unordered_map<Id, size_t, IdHash> last;  // position of the last document with an id
  if (documents.size() > 1) {
    for (size_t i = 0; i < documents.size(); ++i) last[documents[i].id] = i;
  }
  for (size_t i = 0; i < documents.size(); ++i) {
    const DocumentInput& document = documents[i];
    if (documents.size() > 1 && last[document.id] != i) continue;
    if (id_kind() == IdKind::unset) id_kind_.store(document.id.kind, std::memory_order_release);
    if (dim() == 0 && !document.vector.empty())
      dim_.store(static_cast<uint32_t>(document.vector.size()), std::memory_order_release);
    write(document);
  }
  return documents.size() > 1 ? last.size() : documents.size();
}

Partition& Engine::partition_for(const ScopeRef& scope) {
  if (Partition* partition = partitions_.find(scope->key(), scope->hash())) return *partition;
  auto made = std::make_unique<Partition>(scope, options_.chunk_docs);
  if (!IdMap::holds(made.get())) throw base::Error("expected memory addresses of at most 52 bits");
  return partitions_.insert(std::move(made));
}

std::span<const lexical::TermCount> Engine::analyze(std::string_view text) {
  analyzer_.analyze(text, writer_scratch_->analysis, writer_scratch_->tokens);
  return writer_scratch_->counter.count(writer_scratch_->tokens);
}

void Engine::write(const DocumentInput& document) {
  Partition& partition = partition_for(document.scope);
  std::optional<Location> old = find(document.id);
  std::vector<lexical::TermCount>& old_terms = writer_scratch_->old_terms;
  if (old) {
    // The terms to take back are read from the old text. Their views must outlive the next analysis: copy the
    // bytes.
    const Chunk& chunk = old->partition->chunk(serial_of(old->doc));
    writer_scratch_->keep(analyze(chunk.text(offset_of(old->doc))), old_terms);
  }
  std::string_view text = document.text;
  if (text::valid_utf8_prefix(text) != text.size()) {
    writer_scratch_->sanitized = text::sanitize_utf8(text);
    text = writer_scratch_->sanitized;
  }
  // All that may fail comes before anything is changed that could not be taken back.
  std::unique_ptr<base::Bitmap> dead;
  if (old) dead = partition.chunk(serial_of(old->doc)).dead_with(offset_of(old->doc));
  Chunk& chunk = partition.open_chunk();
  NewDocument prepared{document.id, text, document.payload, document.vector, {}, 0};
  prepared.terms = analyze(text);
  prepared.length = writer_scratch_->counter.length();
  chunk.prepare(prepared, column_options());

  const Location location{&partition, local_doc(chunk.serial(), chunk.n_docs())};
  if (!old) {
    {
      const Partition::Publication publication(partition);
      chunk.publish();
    }
    {
      const std::unique_lock lock(ids_mutex_);
      ids_.put(document.id, location);
    }
    build_graph_later(partition, chunk);
    return;
  }
  Chunk& old_chunk = partition.chunk(serial_of(old->doc));
  {
    const Partition::Publication publication(partition);
    old_chunk.kill(offset_of(old->doc), std::move(dead), old_terms);
    chunk.publish();
  }
  base::retire(old_chunk.take_replaced());
  {
    const std::unique_lock lock(ids_mutex_);
    ids_.put(document.id, location);
  }
  compact_later(partition, old_chunk);
  build_graph_later(partition, chunk);
}

size_t Engine::remove(std::span<const Id> ids) {
  for (size_t i = 0; i < ids.size(); ++i) check_kind(ids[i], "id", ids.size() == 1 ? kOnlyRow : i);
  const WriteLock lock(*this);
  const base::EpochGuard guard;
  size_t n_removed = 0;
  for (const Id& id : ids) {
    const std::optional<Location> location = find(id);
    if (!location) continue;
    kill(*location, id);
    ++n_removed;
  }
  return n_removed;
}

void Engine::kill(Location location, const Id& id) {
  Partition& partition = *location.partition;
  Chunk& chunk = partition.chunk(serial_of(location.doc));
  const uint32_t offset = offset_of(location.doc);
  const std::span<const lexical::TermCount> terms = analyze(chunk.text(offset));
  auto dead = chunk.dead_with(offset);
  const uint64_t hash = id.hash();
  {
    const Partition::Publication publication(partition);
    chunk.kill(offset, std::move(dead), terms);
  }
  {
    const std::unique_lock ids_lock(ids_mutex_);
    ids_.erase(hash, location);
  }
  base::retire(chunk.take_replaced());
  compact_later(partition, chunk);
}

}  // namespace scrubjay::engine
