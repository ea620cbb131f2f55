// Insertion links as a slow twin does, which looks at all nodes that links lead to.
#include "vector/graph_insertion.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "vector/column.hpp"

using namespace scrubjay::vector;
namespace base = scrubjay::base;

namespace {

constexpr uint32_t kConnectivity = 4, kDim = 6, kMany = 1000;

// The nodes of a column, and distances by rows.
struct Rows {
  Column column;
  std::vector<RowNode> nodes;
  std::vector<std::vector<float>> vectors;

  Rows(Metric metric, uint32_t n, unsigned seed) : column({kDim, metric, Storage::f32}) {
    std::mt19937 random(seed);
    for (uint32_t doc = 0; doc < n; ++doc) {
      std::vector<float> vector(kDim);
      for (float& x : vector)
        x = static_cast<float>(static_cast<int>(random() % 9)) - 4.0f;  // with equal ones
      vector[random() % kDim] += 0.5f;
      column.append(doc, vector);
      vectors.push_back(std::move(vector));
    }
    for (uint32_t doc = 0; doc < n; ++doc)
      nodes.push_back({column.rows().row(doc), column.scales()[doc], doc});
  }
};

using Lists = std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>;  // by level and slot

struct Twin {
  const RowsBetween& between;
  Lists lists;
  std::vector<uint32_t> levels;
  uint32_t entry = 0;

  using Candidates = std::vector<std::pair<float, uint32_t>>;  // distance and slot, nearest first

  static void choose(Candidates& candidates, size_t most, const RowsBetween& between) {
    if (candidates.size() < most) return;
    Candidates chosen;
    for (const auto& candidate : candidates) {
      if (chosen.size() == most) break;
      bool good = true;
      for (const auto& one : chosen) good &= between(candidate.second, one.second) >= candidate.first;
      if (good) chosen.push_back(candidate);
    }
    candidates = chosen;
  }

  std::set<uint32_t> reached(uint32_t start, uint32_t level) const {
    std::set<uint32_t> seen{start};
    std::vector<uint32_t> left{start};
    while (!left.empty()) {
      const uint32_t slot = left.back();
      left.pop_back();
      for (const uint32_t other : lists.at({level, slot}))
        if (seen.insert(other).second) left.push_back(other);
    }
    return seen;
  }

  template <class Distance>
  void add(const Distance& distance) {
    const auto slot = static_cast<uint32_t>(levels.size());
    const uint32_t level = level_of_number(slot, kConnectivity);
    levels.push_back(level);
    for (uint32_t l = 0; l <= level; ++l) lists[{l, slot}] = {};
    if (slot == 0) return;
    const auto from_new = [&](uint32_t other) {
      float out = 0.0f;
      distance.measure(&other, 1, &out);
      return std::pair(out, other);
    };
    uint32_t start = entry;
    for (uint32_t l = levels[entry]; l > level; --l) {
      for (bool nearer = true; nearer;) {
        nearer = false;
        const std::vector<uint32_t> others = lists.at({l, start});
        for (const uint32_t other : others) {
          if (from_new(other) >= from_new(start)) continue;
          start = other;
          nearer = true;
        }
      }
    }
    for (uint32_t l = std::min(level, levels[entry]) + 1; l-- > 0;) {
      Candidates nearest;
      for (const uint32_t other : reached(start, l)) nearest.push_back(from_new(other));
      std::sort(nearest.begin(), nearest.end());
      choose(nearest, kConnectivity, between);
      start = nearest.front().second;
      for (const auto& [near, other] : nearest) {
        lists[{l, slot}].push_back(other);
        std::vector<uint32_t>& back = lists[{l, other}];
        const size_t most = l == 0 ? 2 * kConnectivity : kConnectivity;
        if (back.size() < most) {
          back.push_back(slot);
          continue;
        }
        Candidates linked{{near, slot}};
        for (const uint32_t one : back) linked.emplace_back(between(other, one), one);
        std::sort(linked.begin(), linked.end());
        choose(linked, most, between);
        back.clear();
        for (const auto& one : linked) back.push_back(one.second);
      }
    }
    if (level > levels[entry]) entry = slot;
  }
};

}  // namespace

TEST(graph_insertion_links_as_the_twin_does) {
  for (const Metric metric : {Metric::cosine, Metric::l2, Metric::inner_product}) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      const Rows rows(metric, 150, seed);
      const ColumnOptions options = rows.column.options();
      const RowsBetween between(rows.nodes, options);
      GraphScratch scratch;
      GraphLists lists(kConnectivity);
      Insertion insertion(lists, between, kMany, scratch);
      Twin twin{between, {}, {}, 0};
      for (const std::vector<float>& vector : rows.vectors) {
        PreparedQuery query;
        prepare_query(options, vector, query);
        const RowsFromQuery distance(rows.nodes, options, query);
        insertion.add(distance);
        twin.add(distance);
      }
      CHECK_EQ(lists.entry(), twin.entry);
      for (const auto& [place, list] : twin.lists) {
        const auto stored = lists.list(place.second, place.first);
        CHECK(std::vector<uint32_t>(stored.begin(), stored.end()) == list);
      }
      for (uint32_t slot = 0; slot < lists.size(); ++slot) CHECK_EQ(lists.level_of(slot), twin.levels[slot]);
    }
  }
  base::collect_retired();
}

TEST(one_in_connectivity_nodes_of_a_level_is_on_the_next) {
  for (const uint32_t connectivity : {4u, 16u, 64u}) {
    constexpr uint32_t kNumbers = 200000;
    std::vector<uint32_t> n_at(40);
    for (uint32_t number = 0; number < kNumbers; ++number)
      for (uint32_t level = level_of_number(number, connectivity); level > 0; --level) ++n_at[level];
    const double wanted = static_cast<double>(kNumbers) / connectivity;
    CHECK(std::abs(n_at[1] - wanted) < 5.0 * std::sqrt(wanted));
    CHECK(std::abs(n_at[2] - wanted / connectivity) < 5.0 * std::sqrt(wanted / connectivity));
  }
}
