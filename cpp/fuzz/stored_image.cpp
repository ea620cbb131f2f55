// Reads arbitrary bytes as an SQLite file with images: each row of its table is an image, or refused.
//
// The first bytes of the image are taken from the file, where the magic number of an image is; the last three
// bytes of the input select root, row and size.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "engine/engine.hpp"
#include "engine/stored_image.hpp"

namespace {

using namespace scrubjay;

// A file that is open as long as the process.
int file() {
  static std::FILE* const made = std::tmpfile();
  if (!made) std::abort();
  return ::fileno(made);
}

bool put(std::string_view bytes) {
  return ::ftruncate(file(), 0) == 0 &&
         ::pwrite(file(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size - 3);
  if (!put(bytes)) return 0;
  static const auto scope = std::make_shared<const engine::Scope>("a", std::nullopt, std::nullopt);
  engine::Engine engine({});
  engine::StoredImage stored;
  stored.descriptor = file();
  stored.root = data[size - 3] % 16;
  const size_t magic = bytes.find("SJCHUNK\n");
  stored.first = bytes.substr(magic == std::string_view::npos ? 0 : magic, engine::StoredImage::kFirstBytes);
  uint64_t n_bytes = 0;
  // Mostly the size that the header states, so that checks behind it are reached.
  if (stored.first.size() == engine::StoredImage::kFirstBytes)
    for (size_t i = 0; i < 4; ++i)
      n_bytes |= uint64_t{static_cast<unsigned char>(stored.first[64 + i])} << (8 * i);
  n_bytes += engine::StoredImage::kFirstBytes + data[size - 1];
  // In one row, or divided between two.
  const int64_t row = data[size - 2] % 16;
  const uint64_t n_first = n_bytes * (data[size - 2] / 16 % 8) / 8;
  if (n_first != 0) stored.rows.push_back({row, n_first});
  stored.rows.push_back({row + (n_first != 0 ? 1 : 0), n_bytes - n_first});
  try {
    std::vector<engine::ArrivingImage> arriving;
    arriving.push_back(engine.arriving_image(scope, stored.n_bytes()));
    engine::read_stored_image(stored, arriving.back());
    const size_t n = engine.load_partition(scope, arriving);
    if (n != engine.count(nullptr)) std::abort();
  } catch (const base::Corrupt&) {
    if (engine.count(nullptr) != 0) std::abort();
  }
  return 0;
}
