// Reads arbitrary bytes as the image of a chunk. With the checksum and the sizes put right, so that the
// values behind them are reached: whatever comes, it is refused or it is a chunk that can be searched,
// written to and saved again.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "engine/engine.hpp"
#include "engine/image_bytes.hpp"

namespace {

using namespace scrubjay;
using engine::Engine;
using engine::Id;
using engine::Scope;

// The offsets of image.cpp's header.
constexpr size_t kHeaderBytes = 64, kBodyBytes = 48, kChecksum = 56;

std::string repaired(std::string image) {
  if (image.size() < kHeaderBytes) return image;
  std::memcpy(image.data(), "SJCHUNK\n\1\0\0\0", 12);
  const uint64_t analyzer = base::hash64("english-1");
  std::memcpy(image.data() + 16, &analyzer, 8);
  const uint64_t body = image.size() - kHeaderBytes;
  std::memcpy(image.data() + kBodyBytes, &body, 8);
  std::memset(image.data() + kChecksum, 0, 8);
  const std::string_view all = image;
  const uint64_t sum =
      engine::checksum(all.substr(kHeaderBytes), engine::checksum(all.substr(0, kHeaderBytes), 0));
  std::memcpy(image.data() + kChecksum, &sum, 8);
  return image;
}

// A valid image, as a start that random changes stay close to.
std::string seed_image(const std::shared_ptr<const Scope>& scope) {
  Engine engine({});
  const float vector[] = {1.0f, -2.0f, 3.0f};
  for (int64_t i = 0; i < 8; ++i) {
    const engine::DocumentInput document{Id::of(i), "oak jay internationalization sk-stg-0041", "payload",
                                         scope, vector};
    static_cast<void>(engine.upsert({&document, 1}));
  }
  return engine.save_partition(*scope).front();
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
    if (engine.remove({&more.id, 1}) != 1) std::abort();
  }
  const auto images = engine.save_partition(*scope);
  Engine again({});
  const std::string_view view = images.front();
  if (again.load_partition(scope, {&view, 1}) != engine.count(nullptr)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto scope = std::make_shared<const Scope>("a", std::nullopt, std::nullopt);
  static const std::string seed = seed_image(scope);
  std::string image(reinterpret_cast<const char*>(data), size);
  if (size != 0 && data[0] % 2 == 0) {  // else the input is the image; here it changes a valid one
    image = seed;
    for (size_t i = 1; i + 2 < size; i += 3) {
      const size_t at = (data[i] * size_t{256} + data[i + 1]) % image.size();
      image[at] = static_cast<char>(data[i + 2]);
    }
    if (data[0] % 4 == 0) image.resize(image.size() - std::min(image.size(), size % 7));
  }
  image = repaired(std::move(image));
  Engine engine({});
  const std::string_view view = image;
  try {
    static_cast<void>(engine.load_partition(scope, {&view, 1}));
  } catch (const base::Corrupt&) {
    if (engine.count(nullptr) != 0) std::abort();
    return 0;
  }
  use(engine, scope);
  return 0;
}
