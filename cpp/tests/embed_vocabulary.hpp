// A vocabulary of a few tokens that covers all cases: for tests and the fuzzer.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "embed/byte_pair.hpp"

namespace test_vocabulary {

struct Parts {
  std::vector<std::string> vocabulary;
  std::vector<scrubjay::embed::Merge> merges;
  std::vector<scrubjay::embed::AddedToken> added;
};

inline Parts parts() {
  Parts parts;
  for (unsigned byte = 0; byte < 256; ++byte) {
    char token[8];
    std::snprintf(token, sizeof(token), "<0x%02X>", byte);
    parts.vocabulary.emplace_back(token);
  }
  const std::string marker = "\xe2\x96\x81";
  const auto add = [&](const std::string& token) {
    for (uint32_t id = 0; id < parts.vocabulary.size(); ++id)
      if (parts.vocabulary[id] == token) return id;
    parts.vocabulary.push_back(token);
    return static_cast<uint32_t>(parts.vocabulary.size() - 1);
  };
  const auto merge = [&](const std::string& left, const std::string& right) {
    const uint32_t first = add(left), second = add(right);
    parts.merges.push_back({first, second, add(left + right)});
  };
  for (const char* character : {"a", "b", "t", "h", "e", "s", ".", "\xc3\xa9"}) add(character);
  merge("t", "h");
  merge(marker, "th");
  merge(marker, "t");
  merge(marker + "th", "e");
  merge("th", "e");
  merge(marker, "the");
  merge(marker, "a");
  merge("a", "a");
  merge("aa", "aa");
  merge("a", "b");
  merge("\xc3\xa9", "\xc3\xa9");
  merge(marker, marker);
  merge(marker + marker, marker + marker);
  merge(".", ".");
  merge("b", ".");
  merge("h", "e");
  parts.added = {{"<s>", add("<s>")}, {"<s>>", add("<s>>")}};
  return parts;
}

inline scrubjay::embed::BytePairTokenizer make(const Parts& from = parts()) {
  const std::vector<std::string_view> views(from.vocabulary.begin(), from.vocabulary.end());
  return {views, from.merges, from.added};
}

}  // namespace test_vocabulary
