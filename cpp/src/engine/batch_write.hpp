// Batch write: applies a prepared batch to its partitions, all or nothing.
//
//  1. Find or create the partitions and take their turns (turn.hpp).
//  2. Look up the document that each row replaces; an unmet version condition ends the write.
//  3. Store the documents at the tails of the chunks, where readers do not see them.
//  4. Copy the bitmaps of deleted documents, one copy for each publication.
//  5. Announce new ids in the id index, which may allocate.
//  6. Partition by partition, publish the documents and update the id index for the replaced ids.
// Steps 1 to 5 may fail; their effects are then rolled back, which allocates nothing. Step 6 cannot fail.
#pragma once

#include <memory>
#include <vector>

#include "base/bitmap.hpp"
#include "base/epoch.hpp"
#include "engine/engine.hpp"
#include "engine/writing.hpp"

namespace scrubjay::engine {

class Engine::BatchWrite {
 public:
  BatchWrite(Engine& engine, const PreparedBatch& batch, WriterScratch& scratch)
      : engine_(engine), batch_(batch), scratch_(scratch) {}
  ~BatchWrite() {
    if (!published_) take_back();
  }
  BatchWrite(const BatchWrite&) = delete;
  BatchWrite& operator=(const BatchWrite&) = delete;

  // Returns the version of the first document.
  uint64_t run();

 private:
  struct Row {
    const PreparedBatch::Document* document;
    Partition* partition;
    Chunk* chunk = nullptr;
    LocalDoc doc = 0;
    Chunk* old_chunk = nullptr;  // null: the id is new
    uint32_t old_offset = 0;
    lexical::KeptTerms::Range old_terms = {};
    bool late = false;  // its terms are in scratch_.late
    bool announced = false;

    [[nodiscard]] Location location() const noexcept { return {partition, doc}; }
    [[nodiscard]] const Id& id() const noexcept { return document->input->id; }
  };
  // The bitmap of a chunk's deleted documents as of one publication.
  struct Dead {
    Chunk* chunk;
    std::unique_ptr<base::Bitmap> bitmap;
    uint32_t n_killed;  // by this publication
  };
  // Rows of one partition that are published together, and the bitmaps that go with them. Begins where the
  // previous step ends.
  struct Step {
    size_t end_row, end_dead;
  };

  void find_partitions();
  void look_up(Row& row);
  void check_version(const Row& row) const;
  void store(Row& row);
  void plan();
  void mark_dead(const Row& row, size_t first_dead, size_t first_of_partition);
  void announce();
  void publish() noexcept;
  void publish(size_t first_row, size_t first_dead, const Step& step) noexcept;
  void hint_upkeep() noexcept;
  void take_back() noexcept;
  [[nodiscard]] lexical::TermSpan old_terms(const Row& row) const noexcept {
    return row.late ? scratch_.late[row.old_terms] : batch_.terms(row.old_terms);
  }

  Engine& engine_;
  const PreparedBatch& batch_;
  WriterScratch& scratch_;
  const base::ForkGate::Inside inside_{engine_.fork_gate_};
  const base::EpochGuard guard_;
  PartitionTurns turns_;
  std::vector<Partition*> partitions_;  // without duplicates
  std::vector<Partition*> made_;        // created for this batch
  std::vector<Row> rows_;               // grouped by partition
  std::vector<Dead> dead_;
  std::vector<Step> steps_;
  uint64_t first_write_ = 0;  // write number of the first document
  size_t n_stored_ = 0;
  bool has_turns_ = false, published_ = false;
};

}  // namespace scrubjay::engine
