// Reads arbitrary bytes as the file of a static embedder, with a corrected checksum, and embeds the same
// bytes: the file is rejected or read, and a vector has length 1 or 0.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../tests/embed_static_table.hpp"
#include "base/errors.hpp"
#include "base/hash.hpp"
#include "embed/static_embedder.hpp"
#include "embed/static_table.hpp"

namespace {

using namespace scrubjay;

void embed_with(const embed::StaticTable& table, std::string_view text) {
  const embed::StaticEmbedder embedder(
      embed::WordPieceTokenizer(table.vocabulary),
      {embed::ByteRows{table.rows.data(), table.factors.data()}, table.vocabulary.size(), table.dim});
  std::vector<float> vector(table.dim);
  const bool embedded = embedder.embed(text, vector);
  double square = 0;
  for (const float element : vector) square += double{element} * element;
  if (embedded ? std::abs(square - 1.0) > 1e-3 : square != 0.0) std::abort();
  if (embedded && embedder.tokenize(text).empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size < 4096 ? size : 4096);
  if (bytes.size() >= 40) {
    const uint64_t checksum = base::hash64(std::string_view(bytes).substr(0, bytes.size() - 8));
    for (size_t i = 0; i < 8; ++i) bytes[bytes.size() - 8 + i] = static_cast<char>(checksum >> (8 * i));
  }
  embed::StaticTable read;
  try {
    embed::read_static_table(bytes, read);
    embed_with(read, bytes);
    const unsigned bits = static_cast<unsigned char>(bytes[20]);
    if (embed::write_static_table(read, bits) != bytes) std::abort();
  } catch (const base::Corrupt&) {
  }
  embed::StaticTable table;
  test_static_table::fill(table);
  embed_with(table, bytes);
  return 0;
}
