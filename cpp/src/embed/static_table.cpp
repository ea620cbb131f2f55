#include "embed/static_table.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "embed/word_piece.hpp"
#include "text/utf8.hpp"

namespace scrubjay::embed {
namespace {

constexpr std::string_view kMagic = "SJSTATIC";
constexpr uint32_t kFormat = 1, kMostDim = 4096, kMostNameBytes = 200;
constexpr size_t kHeaderBytes = 32, kChecksumBytes = 8;

[[noreturn]] void fail(const std::string& what) { throw base::Corrupt("static table: " + what); }

uint32_t read_u32(std::string_view bytes, size_t at) noexcept {
  return static_cast<uint32_t>(base::load_bytes(bytes.data() + at, 4));
}

void put_number(std::string& out, uint64_t value, size_t n_bytes) {
  for (size_t i = 0; i < n_bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

void check(bool holds, const char* name, uint64_t got) {
  if (!holds) fail(std::string("expected ") + name + ", got " + std::to_string(got));
}

}  // namespace

void read_static_table(std::string_view bytes, StaticTable& table) {
  if (bytes.size() < kHeaderBytes + kChecksumBytes || !bytes.starts_with(kMagic))
    fail("expected a file that begins with SJSTATIC, got " + std::to_string(bytes.size()) + " other bytes");
  check(read_u32(bytes, 8) == kFormat, "format 1", read_u32(bytes, 8));
  const uint32_t dim = read_u32(bytes, 12), n_rows = read_u32(bytes, 16), bits = read_u32(bytes, 20);
  const uint32_t name_bytes = read_u32(bytes, 24), vocabulary_bytes = read_u32(bytes, 28);
  check(dim != 0 && dim <= kMostDim && dim % 16 == 0, "16, 32, ... 4096 dimensions", dim);
  check(n_rows != 0 && n_rows <= WordPieceTokenizer::kMostTokens, "1 to 2097152 tokens", n_rows);
  check(bits == 4 || bits == 8, "elements of 4 or 8 bits", bits);
  check(name_bytes != 0 && name_bytes <= kMostNameBytes, "a name of 1 to 200 bytes", name_bytes);
  const uint64_t n_elements = uint64_t{n_rows} * dim, row_bytes = n_elements * bits / 8;
  const uint64_t size = kHeaderBytes + uint64_t{name_bytes} + vocabulary_bytes + uint64_t{n_rows} * 4 +
                        row_bytes + kChecksumBytes;
  check(bytes.size() == size, (std::to_string(size) + " bytes").c_str(), bytes.size());
  const std::string_view covered = bytes.substr(0, bytes.size() - kChecksumBytes);
  const uint64_t checksum = base::load_bytes(bytes.data() + covered.size(), kChecksumBytes);
  if (base::hash64(covered) != checksum) fail("checksum mismatch, the file has been changed");

  table.name = covered.substr(kHeaderBytes, name_bytes);
  if (text::valid_utf8_prefix(table.name) != table.name.size()) fail("expected a name in UTF-8");
  table.strings = covered.substr(kHeaderBytes + name_bytes, vocabulary_bytes);
  const std::string_view strings = table.strings;
  if (text::valid_utf8_prefix(strings) != strings.size()) fail("expected a vocabulary in UTF-8");
  table.vocabulary.clear();
  table.vocabulary.reserve(n_rows);
  for (size_t at = 0; at < strings.size();) {
    const size_t end = strings.find('\n', at);
    if (end == std::string_view::npos || end == at)
      fail("expected non-empty tokens, each terminated by a line feed");
    table.vocabulary.push_back(strings.substr(at, end - at));
    at = end + 1;
  }
  check(table.vocabulary.size() == n_rows, (std::to_string(n_rows) + " tokens").c_str(),
        table.vocabulary.size());
  const size_t factors_at = kHeaderBytes + name_bytes + vocabulary_bytes;
  table.factors.resize(n_rows);
  for (uint32_t id = 0; id < n_rows; ++id) {
    const float factor = std::bit_cast<float>(read_u32(covered, factors_at + size_t{id} * 4));
    if (!std::isfinite(factor) || factor < 0.0f || factor > 1e6f)
      fail("expected factors from 0 to 1e6, got one out of range for token " + std::to_string(id));
    table.factors[id] = factor;
  }
  const std::string_view packed = covered.substr(factors_at + size_t{n_rows} * 4);
  table.rows.resize(n_elements);
  if (bits == 8) {
    std::memcpy(table.rows.data(), packed.data(), packed.size());
  } else {
    for (size_t i = 0; i < packed.size(); ++i) {
      const auto pair = static_cast<unsigned char>(packed[i]);
      table.rows[2 * i] = static_cast<int8_t>((pair & 15) - 8);
      table.rows[2 * i + 1] = static_cast<int8_t>((pair >> 4) - 8);
    }
  }
  table.dim = dim;
  table.checksum = checksum;
}

std::string write_static_table(const StaticTable& table, unsigned bits) {
  std::string out(kMagic);
  for (const uint64_t number : {uint64_t{kFormat}, uint64_t{table.dim}, uint64_t{table.vocabulary.size()},
                                uint64_t{bits}, uint64_t{table.name.size()}, uint64_t{table.strings.size()}})
    put_number(out, number, 4);
  out += table.name;
  out += table.strings;
  for (const float factor : table.factors) put_number(out, std::bit_cast<uint32_t>(factor), 4);
  if (bits == 8) {
    out.append(reinterpret_cast<const char*>(table.rows.data()), table.rows.size());
  } else {
    for (size_t i = 0; i + 1 < table.rows.size(); i += 2)
      out += static_cast<char>((table.rows[i] + 8) | ((table.rows[i + 1] + 8) << 4));
  }
  put_number(out, base::hash64(out), kChecksumBytes);
  return out;
}

}  // namespace scrubjay::embed
