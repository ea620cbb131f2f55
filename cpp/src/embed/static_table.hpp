// Static table: the file of a static embedder, with a name, a vocabulary of word pieces, and a row of
// integers for each.
//
//   0  "SJSTATIC"                             24  bytes of the name
//   8  format: 1                              28  bytes of the vocabulary
//  12  dimensions: a multiple of 16, to 4096  32  the name; the tokens by id, each ended by a line feed;
//  16  tokens                                     a factor for each token, single precision; the rows;
//  20  bits of an element: 4 or 8                 base::hash64 of all before it
//
// Little-endian. A row is its factor times its elements: signed bytes, or nibbles, the lower one first, less
// 8. Reference: tests/reference/word_piece.py, which reads the same file in plain Python.
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
  std::string strings;                       // the vocabulary as in the file
  std::vector<std::string_view> vocabulary;  // views of `strings`, by id
  std::vector<float> factors;
  std::vector<int8_t> rows;  // concatenated

  StaticTable() = default;
  StaticTable(const StaticTable&) = delete;  // views of a short string would dangle
  StaticTable& operator=(const StaticTable&) = delete;
};

// Reads a file into an empty table. Throws base::Corrupt if it is not a valid file; the message says
// what is wrong.
void read_static_table(std::string_view bytes, StaticTable& table);

// Returns the bytes of the file, with 4 or 8 `bits` per element, which read_static_table() reads.
[[nodiscard]] std::string write_static_table(const StaticTable& table, unsigned bits);

}  // namespace scrubjay::embed
