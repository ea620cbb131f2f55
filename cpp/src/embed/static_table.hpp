// The file of a static embedder: a name, a vocabulary of word pieces and a row of whole numbers for each.
//
//   0  "SJSTATIC"                             24  bytes of the name
//   8  format: 1                              28  bytes of the vocabulary
//  12  dimensions: a multiple of 16, to 4096  32  the name; the tokens by id, each ended by a line feed;
//  16  tokens                                     a factor for each token, single precision; the rows;
//  20  bits of an element: 4 or 8                 base::hash64 of all before it
//
// Little-endian. A row is its factor times its elements: signed bytes, or nibbles, the lower one first, that stand
// for themselves less 8. tests/reference/word_piece.py reads the same file in plain Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scrubjay::embed {

struct StaticTable {
  std::string name;
  uint64_t checksum = 0;  // of the file
  uint32_t dim = 0;
  std::string strings;                       // the vocabulary as it is in the file
  std::vector<std::string_view> vocabulary;  // views of `strings`, by id
  std::vector<float> factors;
  std::vector<int8_t> rows;  // end to end

  StaticTable() = default;
  StaticTable(const StaticTable&) = delete;  // views of a short string would not follow it
  StaticTable& operator=(const StaticTable&) = delete;
};

// Reads a file into an empty table. Throws base::Corrupt: it cannot be what was written; the message says what
// is wrong.
void read_static_table(std::string_view bytes, StaticTable& table);

// The bytes of the file of these parts, with 4 or 8 `bits` an element: what read_static_table reads.
[[nodiscard]] std::string write_static_table(const StaticTable& table, unsigned bits);

}  // namespace scrubjay::embed
