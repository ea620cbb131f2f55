// The distances of two words' beginnings by the whole table, for the tests of faster ways.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

// Optimal string alignment: [i][j] is the distance of the first i letters of a from the first j of b.
inline std::vector<std::vector<size_t>> edit_distances(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& least = table[i][j];
      least = i + j;
      if (i == 0 || j == 0) continue;
      least = std::min(
          {table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, table[i - 2][j - 2] + 1);
    }
  }
  return table;
}
