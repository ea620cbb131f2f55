// A table of a few tokens, for tests and the fuzzer.
#pragma once

#include <random>

#include "embed/static_table.hpp"

namespace test_static_table {

inline void fill(scrubjay::embed::StaticTable& table) {
  table.name = "tiny";
  table.dim = 32;
  table.strings = "the\na\nb\n.\n##a\n##ab\n##b\nth\n\xe6\x9d\xb1\n\xc3\xa9\na\n";
  const std::string_view strings = table.strings;
  for (size_t at = 0, end = 0; (end = strings.find('\n', at)) != std::string_view::npos; at = end + 1)
    table.vocabulary.push_back(strings.substr(at, end - at));
  std::mt19937 random(9);
  for (size_t id = 0; id < table.vocabulary.size(); ++id)
    table.factors.push_back(static_cast<float>(1 + random() % 9) / 8.0f);
  for (size_t i = 0; i < table.vocabulary.size() * table.dim; ++i)
    table.rows.push_back(static_cast<int8_t>(static_cast<int>(random() % 16) - 8));
}

}  // namespace test_static_table
