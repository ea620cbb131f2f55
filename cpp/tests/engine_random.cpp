// An engine with tiny chunks equals its model through random scripts of operations.
#include <random>
#include <string>

#include "base/epoch.hpp"
#include "check.hpp"
#include "engine_script.hpp"

using namespace scrubjay::engine;
namespace check = scrubjay::check;

TEST(engine_equals_its_model_through_random_scripts) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    std::string bytes(200 + random() % 2000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string difference = Script(bytes).play();
    if (!difference.empty()) {
      check::fail(__FILE__, __LINE__, "seed " + std::to_string(seed) + ", " + difference);
      return;
    }
  }
  scrubjay::base::collect_retired();
  CHECK_EQ(scrubjay::base::n_retired(), 0);
}
