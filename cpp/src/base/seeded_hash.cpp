#include "base/seeded_hash.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <random>

namespace scrubjay::base {
namespace {

// splitmix64 (Steele, Lea and Flood 2014).
[[nodiscard]] uint64_t next_word(uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15ull;
  uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

}  // namespace

HashSeed HashSeed::draw() noexcept {
  HashSeed seed{};
  const auto fill = [&seed](auto&& next) {
    for (uint64_t& word : seed.masks) word = next();
    for (uint64_t& word : seed.factors) word = next() | 1;
  };
  if (const char* text = std::getenv("SCRUBJAY_HASH_SEED"); text && *text != '\0') {
    uint64_t state = hash64(text);
    fill([&state] { return next_word(state); });
    return seed;
  }
  // Includes the randomness of addresses and of the clock, for systems without a better source.
  uint64_t state =
      mix64(reinterpret_cast<uintptr_t>(&seed) ^ reinterpret_cast<uintptr_t>(&HashSeed::draw),
            static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) | 1);
  try {
    std::random_device device;
    fill([&] { return next_word(state) ^ (static_cast<uint64_t>(device()) << 32 | device()); });
  } catch (const std::exception&) {
    fill([&state] { return next_word(state); });
  }
  return seed;
}

}  // namespace scrubjay::base
