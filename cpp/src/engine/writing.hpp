// Writer state: a writer's scratch, the background thread, and the writers' locks. Private to the engine's
// source files.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "base/errors.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "lexical/term_counts.hpp"

namespace scrubjay::engine {

// Buffers of one write. The engine keeps some of them for later writes.
struct Engine::WriterScratch {
  text::Analyzer::Scratch analysis;
  std::vector<text::Token> tokens;
  lexical::TermCounter counter;
  std::vector<float> vector;
  PreparedBatch batch;      // of a write that prepares and applies in one call
  lexical::KeptTerms late;  // of replaced documents that changed after the batch was prepared
  std::string context;

  // Analyses a text and the context in its payload (context.hpp), and stores their terms in `out`.
  [[nodiscard]] Analysed analyze(const text::Analyzer& analyzer, std::string_view text,
                                 std::optional<std::string_view> payload, lexical::KeptTerms& out) {
    bool portioned = false;
    const auto add = [&](std::span<const text::Token> portion) {
      if (!portioned) counter.start();
      portioned = true;
      counter.add(portion);
    };
    analyzer.analyze(text, analysis, tokens, add);
    const std::string_view around = context_of(payload, context);
    if (portioned || !around.empty()) add(tokens);
    const auto terms = portioned ? counter.terms() : counter.count(tokens);
    const uint32_t length = counter.length();
    if (around.empty()) return {out.add(terms), length};
    analyzer.analyze(around, analysis, tokens, add);
    add(tokens);
    return {out.add(counter.terms()), length};
  }
  // Releases the memory that a huge text took; the analyzer's cache stays.
  void trim() noexcept;
};

// A write of this thread, from before its analysis on. A stemmer that calls back into a write of the same
// engine would change the state of the enclosing write or wait for itself: it gets an error.
class Engine::Writing {
 public:
  explicit Writing(const Engine& engine) : engine_(engine), outer_(innermost()) {
    for (const Writing* other = outer_; other; other = other->outer_) {
      if (&other->engine_ == &engine)
        throw base::Error("a stemmer may not write to the engine that calls it");
    }
    innermost() = this;
  }
  ~Writing() {
    innermost() = outer_;
    if (scratch_) engine_.keep_scratch(std::move(scratch_));
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  [[nodiscard]] WriterScratch& scratch() {
    if (!scratch_) scratch_ = engine_.take_scratch();
    return *scratch_;
  }

 private:
  [[nodiscard]] static const Writing*& innermost() noexcept {
    thread_local const Writing* innermost = nullptr;
    return innermost;
  }

  const Engine& engine_;
  const Writing* const outer_;
  std::unique_ptr<WriterScratch> scratch_;
};

// The turns of several partitions, which are in the table and stay there (turn.hpp). Use inside the fork gate
// and under an epoch guard.
class PartitionTurns {
 public:
  PartitionTurns() = default;
  ~PartitionTurns() { release(); }
  PartitionTurns(const PartitionTurns&) = delete;
  PartitionTurns& operator=(const PartitionTurns&) = delete;

  // `partitions` without duplicates. Returns false, holding none, if one of them has left the table.
  [[nodiscard]] bool take(std::vector<Partition*> partitions) {
    std::sort(partitions.begin(), partitions.end(),
              [](const Partition* a, const Partition* b) { return a->serial() < b->serial(); });
    partitions_ = std::move(partitions);
    for (; n_held_ < partitions_.size(); ++n_held_) partitions_[n_held_]->turn().lock();
    if (std::none_of(partitions_.begin(), partitions_.end(), [](const Partition* p) { return p->removed(); }))
      return true;
    release();
    return false;
  }
  void release() noexcept {
    while (n_held_ != 0) partitions_[--n_held_]->turn().unlock();
  }

 private:
  std::vector<Partition*> partitions_;
  size_t n_held_ = 0;
};

// The turn of the partition of exactly one scope, if it exists.
class Engine::PartitionTurn {
 public:
  PartitionTurn(const Engine& engine, std::string_view key, uint64_t hash) : inside_(engine.fork_gate_) {
    while ((partition_ = engine.partitions_.find(key, hash))) {
      partition_->turn().lock();
      if (!partition_->removed()) return;
      partition_->turn().unlock();
    }
  }
  // get() is null if the partition has left the table.
  PartitionTurn(const Engine& engine, Partition& partition)
      : inside_(engine.fork_gate_), partition_(&partition) {
    partition_->turn().lock();
    if (!partition_->removed()) return;
    partition_->turn().unlock();
    partition_ = nullptr;
  }
  ~PartitionTurn() {
    if (partition_) partition_->turn().unlock();
  }
  PartitionTurn(const PartitionTurn&) = delete;
  PartitionTurn& operator=(const PartitionTurn&) = delete;
  [[nodiscard]] Partition* get() const noexcept { return partition_; }

 private:
  const base::ForkGate::Inside inside_;
  const base::EpochGuard guard_;
  Partition* partition_ = nullptr;
};

// Whether a writer checks its partition's graph when a chunk has this many documents: only occasionally.
[[nodiscard]] inline bool is_time_for_graphs(uint32_t n_docs) noexcept { return n_docs % 1024 == 0; }

// The thread of upkeep (upkeep.cpp) and its queue.
struct Engine::Maintenance {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<ScopeRef> waiting;
  std::atomic<bool> stopped{false};
  std::thread thread;
};

// Allows one rewrite of chunks at a time. A signal handler that interrupts one may not begin another.
class Engine::CompactionTurn {
 public:
  explicit CompactionTurn(Engine& engine) : engine_(engine) {
    if (engine.compactor_.load(std::memory_order_relaxed) == std::this_thread::get_id())
      throw base::Error("a signal handler may not compact the engine that it interrupts");
    engine.compaction_mutex_.lock();
    engine.compactor_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~CompactionTurn() {
    engine_.compactor_.store(std::thread::id(), std::memory_order_relaxed);
    engine_.compaction_mutex_.unlock();
  }
  CompactionTurn(const CompactionTurn&) = delete;
  CompactionTurn& operator=(const CompactionTurn&) = delete;

 private:
  Engine& engine_;
};

}  // namespace scrubjay::engine
