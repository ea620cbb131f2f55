// SIMD kernels: the inner loops that have a version per instruction set.
//
// Kernels are written on lanes (kernels_impl.hpp), a few of them with a level's own instructions, and
// compiled once per level by a short file with that level's flags. There is one table per level, and one
// dispatcher that selects the best level of this CPU on first use
// (SCRUBJAY_SIMD=baseline|avx2|avx512|avx512-gather forces one; forcing a level that the CPU lacks is an
// error). All levels give the same bits: one virtual width, no fused multiply-add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace scrubjay::simd {

// Rows and queries are padded with zeros to a multiple of this many elements.
inline constexpr size_t kLaneCount = 16;

// A word of a ranked bitmap: the bits of this many documents, and above them a number of postings.
inline constexpr uint32_t kRankedDocs = 48;
// Maximum number of values for count_greater.
inline constexpr size_t kComparedValues = 128;
// Size of a block for the checksum kernel.
inline constexpr size_t kChecksumBytes = 256;
// Maximum number of groups of four elements in a plane of signs, and documents per plane.
inline constexpr size_t kMostFours = 1024, kPlaneDocs = 32;

struct Kernels {
  const char* level;

  // out[r] = <rows[r], query> for n_rows consecutive rows of n_elements half or single floats, or signed bytes.
  void (*dot_rows_f16)(const uint16_t* rows, size_t n_rows, size_t n_elements, const float* query,
                       float* out);
  void (*dot_rows_f32)(const float* rows, size_t n_rows, size_t n_elements, const float* query, float* out);
  void (*dot_rows_i8)(const int8_t* rows, size_t n_rows, size_t n_elements, const float* query, float* out);
  // The same for rows at arbitrary addresses.
  void (*dot_picked_rows_f16)(const uint16_t* const* rows, size_t n_rows, size_t n_elements,
                              const float* query, float* out);
  void (*dot_picked_rows_f32)(const float* const* rows, size_t n_rows, size_t n_elements, const float* query,
                              float* out);
  void (*dot_picked_rows_i8)(const int8_t* const* rows, size_t n_rows, size_t n_elements, const float* query,
                             float* out);

  // <a, b> of two rows.
  float (*dot_f16_f16)(const uint16_t* a, const uint16_t* b, size_t n_elements);
  float (*dot_f32_f32)(const float* a, const float* b, size_t n_elements);
  float (*dot_i8_i8)(const int8_t* a, const int8_t* b, size_t n_elements);

  // BM25 contributions: table[tf << 11 | length] = count * max(1, rint(weight * tf / (tf + norms[length])))
  // for tf in [first_tf, last_tf] and length codes in [first_length, last_length]. Entries beyond them, up to
  // the next multiple of 16 length codes, may be overwritten with unspecified values (norms must be readable
  // that far).
  void (*fill_impacts)(float weight, uint32_t count, const float* norms, uint32_t first_tf, uint32_t last_tf,
                       uint32_t first_length, uint32_t last_length, uint32_t* table);
  // sums[offsets[i]] += table[payloads[i]]; the offsets are distinct.
  void (*accumulate)(const uint16_t* offsets, const uint16_t* payloads, size_t n, const uint32_t* table,
                     uint32_t* sums);
  // The same without a table: the contributions are computed.
  void (*accumulate_directly)(const uint16_t* offsets, const uint16_t* payloads, size_t n, float weight,
                              uint32_t count, const float* norms, uint32_t* sums);
  // Splits sums[0, n), n a multiple of 16, into disjoint groups of about `group` sums and writes the greatest
  // sum of each to `maxima`, which has room for n + 16. Returns the number of groups.
  size_t (*group_maxima)(const uint32_t* sums, size_t n, size_t group, uint32_t* maxima);
  // Appends to positions and scores every i < n (a multiple of 16) with sums[i] > threshold, ascending, and
  // sets all sums to zero. Both have room for n + 16. Returns the number of candidates.
  size_t (*harvest)(uint32_t* sums, size_t n, uint32_t threshold, uint32_t* positions, uint32_t* scores);

  // The same for the sums at the n distinct `offsets` only: positions receives the offsets, in their order.
  size_t (*harvest_listed)(const uint16_t* offsets, size_t n, uint32_t* sums, uint32_t threshold,
                           uint32_t* positions, uint32_t* scores);

  // For every candidate whose position occurs among the n ascending offsets: scores[i] += the contribution of
  // its payload, as in fill_impacts. Then keeps the candidates with scores[i] + rest > threshold, in their
  // order, and returns their number. May write 16 entries beyond them, up to n_candidates + 16. Two bytes
  // beyond payloads[n] are readable.
  size_t (*complete)(const uint16_t* offsets, const uint16_t* payloads, uint32_t n, float weight,
                     uint32_t count, const float* norms, uint32_t rest, uint32_t threshold,
                     uint32_t* positions, uint32_t* scores, size_t n_candidates);
  // The same for a list whose ranked bitmap gives the position of a candidate's payload.
  size_t (*complete_ranked)(const uint64_t* words, uint32_t n_words, const uint16_t* payloads, float weight,
                            uint32_t count, const float* norms, uint32_t rest, uint32_t threshold,
                            uint32_t* positions, uint32_t* scores, size_t n_candidates);

  // Returns the k-th greatest of n values: at least k values are >= it, fewer than k are greater. Returns
  // `below` if fewer than k values exceed `below`. Values are below 2^31, k >= 1.
  uint32_t (*kth_greatest)(const uint32_t* values, size_t n, size_t k, uint32_t below);
  // counts[i] = number of values[0, n) that are greater than values[i]; n <= kComparedValues, which is also
  // the capacity of both arrays.
  void (*count_greater)(const int32_t* values, size_t n, int32_t* counts);
  // Keeps the candidates with a score above the threshold, in their order; returns their number. May write 16
  // entries beyond them, up to n + 16.
  size_t (*keep_above)(uint32_t* positions, uint32_t* scores, size_t n, uint32_t threshold);
  // values[i] = value where bit first + i of `hidden` is set, for n values; n and first are multiples of 16.
  void (*hide)(uint32_t* values, size_t n, const uint64_t* hidden, size_t first, uint32_t value);
  // bits[i] = ~(bits[i] & ~without[i]) for n words (`without` may be null); returns the number of bits that
  // are then zero.
  size_t (*complement)(uint64_t* bits, const uint64_t* without, size_t n);
  // Sets bit i of `bits` where first <= values[i] <= first + span (codes) or least <= values[i] <= greatest;
  // leaves the other bits unchanged.
  void (*match_codes)(const uint16_t* values, size_t n, uint16_t first, uint16_t span, uint64_t* bits);
  // The same for n codes, a multiple of 64, where first < values[i] < last; also sets bit i of `ends` where
  // values[i] equals first or last.
  void (*match_between)(const uint16_t* values, size_t n, uint16_t first, uint16_t last, uint64_t* bits,
                        uint64_t* ends);
  // The same where a set of 65,536 bits contains the code.
  void (*match_code_set)(const uint16_t* values, size_t n, const uint32_t* set, uint64_t* bits);
  void (*match_range)(const int64_t* values, size_t n, int64_t least, int64_t greatest, uint64_t* bits);

  // IEEE half precision, round to nearest even.
  void (*to_f16)(const float* from, size_t n, uint16_t* to);
  void (*from_f16)(const uint16_t* from, size_t n, float* to);

  // Vector codes (vector/codes.hpp). A block is 128 elements in 64 bytes, element i in the lower nibble of
  // byte i, element 64 + i in the upper one. A code c stands for 2c - 15 half steps.

  // Distributes groups of 16 elements over the blocks in turn, with their signs changed (one bit
  // per element), and applies the unnormalised Walsh-Hadamard transform to each block. Returns
  // the greatest magnitude.
  float (*rotate)(const float* vector, size_t n_groups, const uint16_t* signs, size_t n_blocks,
                  float* values);
  // out = values * per_step, rounded, ties away from zero; n is a multiple of 16. Returns the sum.
  int32_t (*quantise)(const float* values, size_t n, float per_step, int8_t* out);
  // codes = clamp(floor(values * per_step + 8), 0, 15). Returns <values, 2c - 15>; square: |2c - 15|^2.
  float (*encode)(const float* values, size_t n_blocks, float per_step, uint8_t* codes, uint32_t* square);
  // out[r] = <codes of row r, query> for consecutive rows.
  void (*dot_codes)(const uint8_t* codes, size_t n_rows, size_t n_blocks, const int8_t* query, int32_t* out);
  // The same for rows at arbitrary addresses.
  void (*dot_picked_codes)(const uint8_t* const* codes, size_t n_rows, size_t n_blocks, const int8_t* query,
                           int32_t* out);
  // <2a - 15, 2b - 15>.
  int32_t (*dot_code_pair)(const uint8_t* a, const uint8_t* b, size_t n_blocks);
  // bounds[i] = sortable(((2 dots[i] - offset) * (factors[i] * scale) + errors[i] * margin) + biases[i] +
  // shift) / 2, where sortable maps floats to unsigned integers of the same order, an error is the upper half
  // of a float, and biases may be null.
  void (*bound_codes)(const int32_t* dots, const float* factors, const float* biases, const uint16_t* errors,
                      size_t n, int32_t offset, float scale, float margin, float shift, uint32_t* bounds);
  // Signs of codes (vector/signs.hpp). A plane has 16 bytes for every four elements of 32 documents: document
  // i in the lower nibble of byte i, document 16 + i in the upper one, one bit per element.

  // For every four elements of a query, each between -31 and 31: the sixteen sums of the elements whose bits
  // are set, minus the least sum. Returns the sum of the magnitudes.
  int32_t (*sign_tables)(const int8_t* elements, size_t n_fours, uint8_t* tables);
  // out[32 p + i] = the sum of the table entries for document i of the p-th of consecutive planes. n_fours is
  // a multiple of 8, at most kMostFours.
  void (*sum_signs)(const uint8_t* planes, size_t n_planes, size_t n_fours, const uint8_t* tables,
                    int32_t* out);
  // Writes the positions of values[i] > threshold for i < n (a multiple of 16), ascending; all values are
  // below 2^31. Returns their number; `positions` has room for n + 16.
  size_t (*select_above)(const uint32_t* values, size_t n, uint32_t threshold, uint32_t* positions);
  // out[0, n_elements) = the sum of rows[ids[0]], rows[ids[1]], ... in this order, n_elements a multiple
  // of 16.
  void (*sum_rows_f16)(const uint16_t* rows, const uint32_t* ids, size_t n, size_t n_elements, float* out);
  void (*sum_rows_f32)(const float* rows, const uint32_t* ids, size_t n, size_t n_elements, float* out);
  // The same for rows[id] times factors[id].
  void (*sum_rows_i8)(const int8_t* rows, const float* factors, const uint32_t* ids, size_t n,
                      size_t n_elements, float* out);
  // Updates each 32-bit lane with each of n blocks of kChecksumBytes: lane = x ^ x >> 15, where x = (lane ^
  // the block's word for the lane) * 0x9e3779b1.
  void (*checksum)(const void* bytes, size_t n_blocks, uint32_t* lanes);
  // One bit for each of n bytes, 64 in a word, the first in the lowest bit; bits beyond n are zero. `letters`: a
  // to z in either case; `joiners`: apostrophes and hyphens; `beyond`: bytes beyond ASCII; `firsts`: the letter
  // `first`, which is lower-case, in either case; 0: none.
  void (*mark_letters)(const char* text, size_t n, char first, uint64_t* letters, uint64_t* joiners,
                       uint64_t* beyond, uint64_t* firsts);

  // For n words, at most 64 and readable up to a multiple of 16; bit i of the result is word i's, those of
  // further words are unspecified. Letters are numbered from 1, a to z.
  // Which sets of letters (lowest bit: a) are not empty and have at most two letters outside `letters`.
  uint64_t (*few_others)(const uint32_t* sets, size_t n, uint32_t letters);
  // Which words may be within two edits (text/spelling.hpp) of a beginning of one with at most 24 letters, by
  // the letter `first` and six others of five bits each, the first in the lowest bits, 0 behind the last.
  // places[l]: where that one has the letter l, the lowest bit its first; places[0]: all bits; 32 entries.
  uint64_t (*near_beginnings)(const uint32_t* beginnings, size_t n, uint32_t first, const uint32_t* places);
};

// The selected kernels. Throws base::InvalidArgument the first time if SCRUBJAY_SIMD names no level
// of this CPU.
[[nodiscard]] const Kernels& kernels();

// All levels of this build that the CPU supports, best last.
[[nodiscard]] std::vector<const Kernels*> available_kernels();

}  // namespace scrubjay::simd
