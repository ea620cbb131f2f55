// Reads arbitrary bytes as the image of a chunk, with corrected checksum and sizes, so that the values behind
// them are reached: it is rejected, or it is a chunk that can be searched, written to and saved again.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "engine/engine.hpp"
#include "engine/image_bytes.hpp"
#include "mutator.hpp"

namespace {

using namespace scrubjay;
using engine::Engine;
using engine::Id;
using engine::Scope;

// Offsets in image.cpp's header.
constexpr size_t kHeaderBytes = 80, kBodyBytes = 64, kChecksum = 72;

std::string repaired(std::string image) {
  if (image.size() < kHeaderBytes) return image;
  std::memcpy(image.data(), "SJCHUNK\n\3\0\0\0", 12);
  const uint64_t analyzer = base::hash64("english-1");
  std::memcpy(image.data() + 16, &analyzer, 8);
  const uint64_t body = image.size() - kHeaderBytes;
  std::memcpy(image.data() + kBodyBytes, &body, 8);
  std::memset(image.data() + kChecksum, 0, 8);
  const std::string_view all = image;
  const uint64_t sum = engine::block_checksum(all.substr(kHeaderBytes),
                                              engine::block_checksum(all.substr(0, kHeaderBytes), 0));
  std::memcpy(image.data() + kChecksum, &sum, 8);
  return image;
}

// Valid images of several kinds: starting points for random changes.
std::vector<std::string> seed_images(const std::shared_ptr<const Scope>& scope) {
  std::vector<std::string> images;
  for (int kind = 0; kind < 7; ++kind) {
    Engine engine({});
    const float vector[] = {1.0f, -2.0f, 3.0f};
    const float several[] = {1.0f, -2.0f, 3.0f, 0.5f, 4.0f, -1.0f};
    const vector::PassageSpan spans[] = {{0, 3}, {2, 9}};
    const int64_t n = kind == 1 ? 1 : kind == 2 ? 60 : 8;
    for (int64_t i = 0; i < n; ++i) {
      const std::string name = "id" + std::to_string(i),
                        text = kind == 2 ? "oak number" + std::to_string(i * i)
                                         : "oak jay internationalization sk-stg-0041";
      engine::DocumentInput document{Id::of(i), text, "payload", scope, {}};
      if (kind == 3) document.id = Id::of(std::string_view(name));
      if (kind != 4 && (kind != 5 || i % 2 == 0)) document.vector = vector;
      if (kind == 6 && i % 3 != 0) {
        document.vector = several;
        document.passages = spans;
      }
      if (kind == 5)
        document.payload = R"({"metadata":{"a":"x","b":[1,"p"],"c":0.5},"created_at":"2026-03-01"})";
      static_cast<void>(engine.upsert({&document, 1}));
    }
    images.push_back(engine.save_partition(*scope).front());
  }
  return images;
}

// Loads the image in pieces whose sizes follow from its bytes; false if it is refused.
bool load_in_pieces(Engine& engine, const std::shared_ptr<const Scope>& scope, std::string_view image) {
  std::minstd_rand random(static_cast<unsigned>(base::hash64(image)));
  std::vector<engine::ArrivingImage> arriving;
  try {
    arriving.push_back(engine.arriving_image(scope, image.size()));
    for (std::string_view rest = image; !rest.empty();) {
      const std::string_view piece = rest.substr(0, 1 + random() % 400);
      arriving.back().add(piece);
      rest.remove_prefix(piece.size());
    }
    static_cast<void>(engine.load_partition(scope, arriving));
  } catch (const base::Corrupt&) {
    return false;
  }
  return true;
}

void use(Engine& engine, const std::shared_ptr<const Scope>& scope) {
  const float query[] = {1.0f, 2.0f, 3.0f};
  engine::SearchRequest request;
  request.text = "oak jay internationalization";
  if (engine.dim() == 3) request.vector = query;
  request.scope = scope.get();
  request.explain = true;
  static_cast<void>(engine.search(request));
  static_cast<void>(engine.digest(*scope));
  const engine::DocumentInput more{Id::of(int64_t{99}), "oak again", std::nullopt, scope, {}};
  if (engine.id_kind() == engine::IdKind::integer) {
    static_cast<void>(engine.upsert({&more, 1}));
    const engine::DocumentKey key = more.key();
    if (engine.remove({&key, 1}) != 1) std::abort();
  }
  const auto images = engine.save_partition(*scope);
  if (images.empty()) {  // an image without documents, to which nothing could be added
    if (engine.count(nullptr) != 0) std::abort();
    return;
  }
  Engine again({});
  const std::string_view view = images.front();
  if (again.load_partition(scope, {&view, 1}) != engine.count(nullptr)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto scope = std::make_shared<const Scope>("a", std::nullopt, std::nullopt);
  const std::string image = repaired(std::string(reinterpret_cast<const char*>(data), size));
  Engine engine({}), in_pieces({});
  const bool is_loaded = load_in_pieces(in_pieces, scope, image);
  const std::string_view view = image;
  try {
    static_cast<void>(engine.load_partition(scope, {&view, 1}));
  } catch (const base::Corrupt&) {
    if (engine.count(nullptr) != 0 || is_loaded) std::abort();
    return 0;
  }
  if (!is_loaded || in_pieces.save_partition(*scope) != engine.save_partition(*scope)) std::abort();
  use(engine, scope);
  return 0;
}

// Changes a valid image, or an earlier mutation of one, and corrects the checksum.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  static const auto scope = std::make_shared<const Scope>("a", std::nullopt, std::nullopt);
  static const std::vector<std::string> seeds = seed_images(scope);
  const std::string& fresh = seeds[seed / 16 % seeds.size()];
  if ((size < kHeaderBytes || seed % 16 == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  std::minstd_rand random(seed);
  if (random() % 2 == 0) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else if (size > 8) {  // numbers at the positions of numbers
    for (auto n = 1 + random() % 3; n != 0; --n) {
      const size_t width = size_t{1} << random() % 4, at = random() % (size - 8) / width * width;
      const uint64_t values[] = {0,    1,         ~uint64_t{0}, random() % 256, uint64_t{1} << random() % 64,
                                 size, 0x7fffffff};
      const uint64_t value = values[random() % std::size(values)];
      std::memcpy(data + at, &value, width);
    }
  }
  const std::string image = repaired(std::string(reinterpret_cast<const char*>(data), size));
  std::memcpy(data, image.data(), image.size());
  return image.size();
}
