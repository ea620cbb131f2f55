#include "engine/batch_write.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "base/interruption.hpp"

namespace scrubjay::engine {
namespace {

// Postings of deleted documents that are counted within one publication, during which readers of the
// partition retry their snapshot: some hundred microseconds.
constexpr size_t kMostDeadPostings = 4096;

}  // namespace

uint64_t Engine::BatchWrite::run() {
  do find_partitions();
  while (!turns_.take(partitions_));
  has_turns_ = true;
  // While holding the turns: write numbers ascend within each partition.
  first_write_ = engine_.next_write_.fetch_add(rows_.size(), std::memory_order_relaxed);
  scratch_.late.clear();
  for (Row& row : rows_) look_up(row);
  engine_.settle(batch_.id_kind_, batch_.vectors_.dim);
  for (Row& row : rows_) {
    base::interruption_point();
    store(row);
  }
  plan();
  announce();
  publish();
  hint_upkeep();
  return first_write_;
}

void Engine::BatchWrite::find_partitions() {
  rows_.clear();
  partitions_.clear();
  rows_.reserve(batch_.documents().size());
  std::unordered_map<std::string_view, Partition*> partitions_by_key;  // unused if all have one scope
  const Scope* last = nullptr;
  for (const PreparedBatch::Document& document : batch_.documents()) {
    const ScopeRef& scope = document.input->scope;
    if (last && (scope.get() == last || *scope == *last)) {
      rows_.push_back({&document, rows_.back().partition});
      continue;
    }
    last = scope.get();
    Partition*& partition = partitions_by_key[scope->key()];
    if (!partition) {
      made_.reserve(made_.size() + 1);
      bool made = false;
      partition = &engine_.partition_for(scope, made);
      if (made) made_.push_back(partition);
      partitions_.push_back(partition);
    }
    rows_.push_back({&document, partition});
  }
  if (partitions_.size() > 1) {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.partition->serial() < b.partition->serial();
    });
  }
}

// Finds the document that the row replaces, and its terms: the prepared ones, if the document has not changed
// or moved.
void Engine::BatchWrite::look_up(Row& row) {
  const std::optional<Location> old = engine_.ids_.find(*row.partition, row.id());
  if (!old) return check_version(row);
  row.old_chunk = &row.partition->chunk(serial_of(old->doc));
  row.old_offset = offset_of(old->doc);
  check_version(row);
  const PreparedBatch::Document& document = *row.document;
  if (document.old_chunk.get() == row.old_chunk && document.old_offset == row.old_offset) {
    row.old_terms = document.old_terms;
    return;
  }
  row.late = true;
  row.old_terms = scratch_
                      .analyze(engine_.analyzer_, row.old_chunk->text(row.old_offset),
                               row.old_chunk->payload(row.old_offset), scratch_.late)
                      .terms;
}

void Engine::BatchWrite::check_version(const Row& row) const {
  const DocumentInput& input = *row.document->input;
  if (input.expected == kAnyVersion) return;
  const uint64_t found = row.old_chunk ? row.old_chunk->write(row.old_offset) : kAbsent;
  if (found != input.expected) throw VersionConflict(input, found);
}

void Engine::BatchWrite::store(Row& row) {
  const PreparedBatch::Document& document = *row.document;
  Chunk& chunk = row.partition->open_chunk();
  chunk.prepare({row.id(), document.text, document.input->payload, batch_.row(document), document.scale,
                 batch_.terms(document.terms), document.length,
                 first_write_ + static_cast<uint64_t>(&document - batch_.documents().data()),
                 batch_.passages(document), batch_.scales(document)},
                batch_.vectors_);
  row.chunk = &chunk;
  row.doc = local_doc(chunk.serial(), chunk.tail() - 1);
  ++n_stored_;
}

void Engine::BatchWrite::plan() {
  size_t n_dead_postings = 0, first_dead = 0, first_of_partition = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const size_t n_more = row.old_chunk ? row.old_terms.n + 1 : 0;
    const bool another = i != 0 && rows_[i - 1].partition != row.partition;
    if (another || (n_more != 0 && n_dead_postings != 0 && n_dead_postings + n_more > kMostDeadPostings)) {
      steps_.push_back({i, dead_.size()});
      first_dead = dead_.size();
      n_dead_postings = 0;
      if (another) first_of_partition = first_dead;
    }
    n_dead_postings += n_more;
    if (row.old_chunk) mark_dead(row, first_dead, first_of_partition);
  }
  steps_.push_back({rows_.size(), dead_.size()});
}

// Sets the document's bit in the bitmap of this publication, which starts as a copy of the previous one.
void Engine::BatchWrite::mark_dead(const Row& row, size_t first_dead, size_t first_of_partition) {
  size_t i = dead_.size();
  while (i != first_of_partition && dead_[i - 1].chunk != row.old_chunk) --i;
  if (i <= first_dead) {
    auto bitmap = i != first_of_partition
                      ? std::make_unique<base::Bitmap>(*dead_[i - 1].bitmap, row.old_chunk->n_docs())
                      : row.old_chunk->copy_dead();
    dead_.push_back({row.old_chunk, std::move(bitmap), 0});
    i = dead_.size();
  }
  dead_[i - 1].bitmap->set(row.old_offset);
  ++dead_[i - 1].n_killed;
}

void Engine::BatchWrite::announce() {
  for (Row& row : rows_) {
    if (row.old_chunk) continue;
    row.announced = engine_.ids_.add(row.id(), row.location());
    assert(row.announced);  // a writer to the partition needs its turn, which this thread has
  }
}

void Engine::BatchWrite::publish() noexcept {
  published_ = true;
  size_t first_row = 0, first_dead = 0;
  for (const Step& step : steps_) {
    publish(first_row, first_dead, step);
    first_row = step.end_row;
    first_dead = step.end_dead;
  }
}

void Engine::BatchWrite::publish(size_t first_row, size_t first_dead, const Step& step) noexcept {
  Partition& partition = *rows_[first_row].partition;
  const bool replaces = first_dead != step.end_dead;
  if (replaces) partition.set_ids_lag(true);
  {
    const Partition::Publication publication(partition);
    for (size_t i = first_row; i < step.end_row;) {
      Chunk* chunk = rows_[i].chunk;
      uint32_t n = 0;
      for (; i < step.end_row && rows_[i].chunk == chunk; ++i, ++n) {
        if (rows_[i].old_chunk) rows_[i].old_chunk->kill(rows_[i].old_offset, old_terms(rows_[i]));
      }
      chunk->publish(n);
    }
    for (size_t i = first_dead; i < step.end_dead; ++i)
      dead_[i].bitmap = dead_[i].chunk->replace_dead(std::move(dead_[i].bitmap));
  }
  for (size_t i = first_dead; i < step.end_dead; ++i) base::retire(std::move(dead_[i].bitmap));
  if (!replaces) return;
  for (size_t i = first_row; i < step.end_row; ++i) {
    if (rows_[i].old_chunk) engine_.ids_.replace(rows_[i].id(), rows_[i].location());
  }
  partition.set_ids_lag(false);
}

void Engine::BatchWrite::hint_upkeep() noexcept {
  if (!engine_.options_.background) return;
  size_t first_dead = 0, row = 0;
  for (const Step& step : steps_) {
    Partition& partition = *rows_[step.end_row - 1].partition;
    for (; first_dead < step.end_dead; ++first_dead)
      engine_.compact_later(partition, *dead_[first_dead].chunk, dead_[first_dead].n_killed);
    bool look = false;
    for (; row < step.end_row; ++row) look |= is_time_for_graphs(offset_of(rows_[row].doc) + 1);
    if (look) engine_.build_graph_later(partition);
  }
}

void Engine::BatchWrite::take_back() noexcept {
  for (Row& row : rows_) {
    if (row.announced) engine_.ids_.erase(row.id(), row.location());
  }
  for (size_t i = n_stored_; i-- != 0;) {
    Row& row = rows_[i];
    row.chunk->forget(batch_.terms(row.document->terms));
    if (i == 0 || rows_[i - 1].chunk != row.chunk) row.chunk->forget_values();
  }
  if (!has_turns_) return;
  for (Partition* partition : made_) {
    const std::span<const ChunkRef> chunks = partition->chunks();
    const bool empty =
        std::all_of(chunks.begin(), chunks.end(), [](const ChunkRef& chunk) { return chunk->n_docs() == 0; });
    if (empty && !partition->removed()) engine_.take_from_table(*partition);
  }
}

}  // namespace scrubjay::engine
