// What the writer keeps between writes, the thread that tidies up behind it, and the lock that makes writers
// take turns. Private to the engine's files.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "lexical/term_counts.hpp"

namespace scrubjay::engine {

struct Engine::WriterScratch {
  text::Analyzer::Scratch analysis;
  std::vector<text::Token> tokens;
  lexical::TermCounter counter;
  std::string sanitized;
  std::string old_bytes;
  std::vector<lexical::TermCount> old_terms;

  // Copies terms with their bytes, so that they survive the next analysis.
  void keep(std::span<const lexical::TermCount> terms, std::vector<lexical::TermCount>& out) {
    old_bytes.clear();
    out.assign(terms.begin(), terms.end());
    for (const lexical::TermCount& term : terms) old_bytes += term.term;
    const char* at = old_bytes.data();
    for (lexical::TermCount& term : out) {
      term.term = {at, term.term.size()};
      at += term.term.size();
    }
  }
};

// The thread of upkeep (upkeep.cpp) and what it is asked to do.
struct Engine::Maintenance {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<ScopeRef> waiting;
  std::atomic<bool> stopped{false};
  std::thread thread;
  int process = 0;  // that the thread runs in: a fork does not take it along
};

// One writer at a time. A stemmer that calls back into a write of the same engine would wait for itself for
// ever: it gets an error instead.
class Engine::WriteLock {
 public:
  explicit WriteLock(Engine& engine) : engine_(engine) {
    if (engine.writer_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      throw base::Error("a stemmer may not write to the engine that calls it");
    }
    engine.write_mutex_.lock();
    engine.writer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  ~WriteLock() {
    engine_.writer_.store(std::thread::id(), std::memory_order_relaxed);
    engine_.write_mutex_.unlock();
  }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  Engine& engine_;
};

}  // namespace scrubjay::engine
