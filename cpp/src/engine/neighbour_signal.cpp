#include "engine/neighbour_signal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "base/seeded_hash.hpp"

namespace scrubjay::engine {
namespace {

using IntegerTrack = filter::Track<int64_t>;

const filter::Column* column_of(const ChunkSnapshot& chunk, std::string_view field) {
  const filter::Columns* columns = chunk.chunk->columns();
  return columns ? columns->find(field, base::seeded_hash64(field)) : nullptr;
}

// Missing if the document has neither a text nor an integer in that field.
NeighbourSignal::Name name_of(const filter::Column& column, uint32_t n_docs, uint32_t offset) {
  const uint16_t code = column.codes.view(n_docs).at(offset);
  const bool is_text = code >= filter::kFirstString && code != filter::kSpilled;
  if (is_text) return {column.strings.at(code - filter::kFirstString)};
  return {{}, column.integers.view(n_docs).at(offset)};
}

// Whether the chunk has a turn that is neither deleted nor hidden by a filter; usually the first document decides.
bool has_turn(const ChunkSnapshot& chunk) {
  const filter::Column *run = column_of(chunk, "run"), *position = column_of(chunk, "position"),
                       *speaker = column_of(chunk, "speaker");
  if (!run || !position || !speaker) return false;
  const auto positions = position->integers.view(chunk.n_docs);
  for (size_t i = 0; i < positions.values.size(); ++i) {
    const uint32_t doc = positions.dense ? static_cast<uint32_t>(i) : positions.docs[i];
    if (positions.values[i] == IntegerTrack::kAbsent || (chunk.dead && chunk.dead->test(doc))) continue;
    if (!name_of(*run, chunk.n_docs, doc).missing() && !name_of(*speaker, chunk.n_docs, doc).missing())
      return true;
  }
  return false;
}

struct NameHash {
  size_t operator()(const NeighbourSignal::Name& name) const noexcept {
    const base::SeededHash hash;
    return name.text.empty() ? hash(static_cast<uint64_t>(name.number)) : hash(name.text);
  }
};

}  // namespace

NeighbourSignal::NeighbourSignal(SearchScratch& scratch, const LexicalArm& lexical, const VectorArm& vector)
    : s_(scratch), lexical_(lexical), vector_(vector) {}

bool NeighbourSignal::present(const SearchScratch& scratch) {
  uint64_t n_docs = 0;
  for (const ChunkSnapshot& chunk : scratch.chunks) n_docs += chunk.n_live;
  if (n_docs > kMostDocs) return false;
  return std::any_of(scratch.chunks.begin(), scratch.chunks.end(), has_turn);
}

void NeighbourSignal::apply(double weight) {
  find_columns();
  find_runs(s_.lexical_docs);
  find_runs(s_.vector_docs);
  find_turns();
  lexical_scores_.clear();
  for (uint32_t rank = 1; rank <= s_.lexical_docs.size(); ++rank)
    lexical_scores_.push_back(lexical_.score_at(rank));
  similarities_.clear();
  for (uint32_t rank = 1; rank <= s_.vector_docs.size(); ++rank)
    similarities_.push_back(vector_.similarity_at(rank));
  add(weight, s_.lexical_docs, lexical_scores_,
      [&](uint32_t doc) { return lexical_.score(doc >> 16, doc & 0xffffu); });
  const double least = similarities_.empty() ? 0.0 : similarities_.back();
  add(weight, s_.vector_docs, similarities_, [&](uint32_t doc) {
    const double similarity = vector_.similarity(doc >> 16, doc & 0xffffu);
    return similarity > least ? similarity - least : 0.0;  // NaN: no vector
  });
}

void NeighbourSignal::find_columns() {
  columns_.assign(s_.chunks.size(), {});
  for (uint32_t p = 0; p < s_.partitions.size(); ++p) {
    for (size_t c = s_.partitions[p].first_chunk; c < s_.end_of(p); ++c) {
      TurnColumns turn_columns = {column_of(s_.chunks[c], "run"), column_of(s_.chunks[c], "position"),
                                  column_of(s_.chunks[c], "speaker"), p};
      if (turn_columns.run && turn_columns.position && turn_columns.speaker) columns_[c] = turn_columns;
    }
  }
}

// Adds the runs of some ranked documents, each once.
void NeighbourSignal::find_runs(std::span<const uint32_t> docs) {
  std::unordered_map<Name, std::vector<uint32_t>, NameHash> partitions_by_name;
  for (const Run& run : runs_) partitions_by_name[run.name].push_back(run.partition);
  for (const uint32_t doc : docs) {
    const TurnColumns& columns = columns_[doc >> 16];
    if (!columns.run) continue;
    const Name name = name_of(*columns.run, s_.chunks[doc >> 16].n_docs, doc & 0xffffu);
    if (name.missing()) continue;
    std::vector<uint32_t>& partitions = partitions_by_name[name];
    if (std::find(partitions.begin(), partitions.end(), columns.partition) != partitions.end()) continue;
    partitions.push_back(columns.partition);
    runs_.push_back({columns.partition, name});
  }
}

void NeighbourSignal::find_turns() {
  constexpr uint32_t kNotWanted = 0xffffffffu;
  std::vector<uint32_t> run_of_code;
  std::unordered_map<uint64_t, uint32_t, base::SeededHash> run_of_number;
  for (uint32_t c = 0; c < s_.chunks.size(); ++c) {
    const TurnColumns& columns = columns_[c];
    if (!columns.run) continue;
    run_of_code.assign(columns.run->strings.size(), kNotWanted);
    run_of_number.clear();
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      const Name& name = runs_[r].name;
      if (runs_[r].partition != columns.partition) continue;
      if (name.text.empty()) {
        run_of_number[static_cast<uint64_t>(name.number)] = r;
      } else if (const uint32_t code = columns.run->strings.find(name.text); code < run_of_code.size()) {
        run_of_code[code] = r;
      }
    }
    const ChunkSnapshot& chunk = s_.chunks[c];
    const auto codes = columns.run->codes.view(chunk.n_docs);
    const auto numbers = columns.run->integers.view(chunk.n_docs);
    const auto positions = columns.position->integers.view(chunk.n_docs);
    const auto run_of = [&](uint32_t i) {
      const uint32_t code = codes.at(i);
      if (code >= filter::kFirstString && code < filter::kFirstString + run_of_code.size())
        return run_of_code[code - filter::kFirstString];
      if (run_of_number.empty()) return kNotWanted;
      const auto run = run_of_number.find(static_cast<uint64_t>(numbers.at(i)));
      return run == run_of_number.end() ? kNotWanted : run->second;
    };
    for (uint32_t i = 0; i < chunk.n_docs; ++i) {
      const uint32_t run = run_of(i);
      if (run == kNotWanted || (chunk.dead && chunk.dead->test(i))) continue;
      const int64_t position = positions.at(i);
      const Name speaker = name_of(*columns.speaker, chunk.n_docs, i);
      if (position != IntegerTrack::kAbsent && !speaker.missing())
        turns_.push_back({run, (c << 16) | i, position, speaker});
    }
  }
  std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) {
    return std::tie(a.run, a.position, a.doc) < std::tie(b.run, b.position, b.doc);
  });
}

// Visits the neighbours before it first, then by document.
template <class Visit>
void NeighbourSignal::visit_neighbours(uint32_t doc, Visit&& visit) const {
  const TurnColumns& columns = columns_[doc >> 16];
  if (!columns.run) return;
  const uint32_t n_docs = s_.chunks[doc >> 16].n_docs, offset = doc & 0xffffu;
  const Name name = name_of(*columns.run, n_docs, offset);
  const Name speaker = name_of(*columns.speaker, n_docs, offset);
  const int64_t position = columns.position->integers.view(n_docs).at(offset);
  if (name.missing() || speaker.missing() || position == IntegerTrack::kAbsent) return;
  const auto own = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) {
    return run.partition == columns.partition && run.name == name;
  });
  const auto run = static_cast<uint32_t>(own - runs_.begin());
  const auto at = [&](int64_t beside) {
    const auto before = [](const Turn& turn, const std::pair<uint32_t, int64_t>& key) {
      return std::tie(turn.run, turn.position) < std::tie(key.first, key.second);
    };
    auto turn = std::lower_bound(turns_.begin(), turns_.end(), std::pair(run, beside), before);
    for (; turn != turns_.end() && turn->run == run && turn->position == beside; ++turn)
      if (turn->speaker != speaker) visit(turn->doc);
  };
  if (position > std::numeric_limits<int64_t>::min() + 1) at(position - 1);
  if (position < std::numeric_limits<int64_t>::max()) at(position + 1);
}

template <class Score>
void NeighbourSignal::add(double weight, std::vector<uint32_t>& docs, std::vector<double>& scores,
                          Score&& score) const {
  std::vector<std::pair<double, uint32_t>> ranked;
  for (size_t i = 0; i < docs.size(); ++i) {
    double beside = 0.0;
    visit_neighbours(docs[i], [&](uint32_t neighbour) { beside += score(neighbour); });
    ranked.emplace_back(scores[i] + weight * beside, docs[i]);
  }
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (size_t i = 0; i < docs.size(); ++i) std::tie(scores[i], docs[i]) = ranked[i];
}

}  // namespace scrubjay::engine
