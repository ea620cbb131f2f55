// Reads the input as a script of writes, deletions, compactions, graphs and searches, and compares an engine
// with tiny chunks to a model that does everything the slow way (cpp/tests/engine_script.hpp).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../tests/engine_script.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string difference = scrubjay::engine::Script(bytes).play();
  if (!difference.empty()) {
    std::fprintf(stderr, "%s\n", difference.c_str());
    std::abort();
  }
  return 0;
}
