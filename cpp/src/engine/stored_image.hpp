// Stored image: the image of a chunk or a graph, read from the SQLite file that has it as a BLOB, or as several.
//
// SQLite reads a BLOB page by page, each through its cache: of the time that a first search of a scope takes,
// that was a third. This reader finds the row in the B-tree of its table, and follows the row's chain of
// overflow pages (https://sqlite.org/fileformat2.html), many pages a call, since most of them lie in order.
//
// It reads the file without the log and without a lock. So the bytes may be out of date (the newer ones are in
// the log), torn (by a checkpoint), or those of something else. They are used only if they begin with the
// bytes that SQLite itself read in the caller's snapshot: these include a checksum of all others, which is
// compared as for every image. For any bytes, in any file, the result is the image or base::Corrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/image.hpp"

namespace scrubjay::engine {

struct StoredImage {
  // The bytes of an image that SQLite has to read: its header, with the checksum.
  static constexpr size_t kFirstBytes = 80;

  // A row whose last column is the BLOB.
  struct Row {
    int64_t number;
    uint64_t n_bytes;  // of the BLOB
  };

  int descriptor = -1;    // of the file, open for reading
  uint32_t root = 0;      // page of the table's root
  std::vector<Row> rows;  // in the order of the bytes
  std::string first;      // the first bytes, kFirstBytes or more
  std::string end;        // the last bytes, which do not belong to the image

  [[nodiscard]] uint64_t n_bytes() const noexcept;  // of all rows
};

// Adds the bytes of a stored image, without the end, to `image`, which is unusable if this throws. Throws
// base::Corrupt if the file does not have them, or std::bad_alloc. Thread-safe; holds 128 KB meanwhile.
void read_stored_image(const StoredImage& stored, ArrivingImage& image);

}  // namespace scrubjay::engine
