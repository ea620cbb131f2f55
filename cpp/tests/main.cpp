// Runs the registered tests: all, or those whose names contain one of the arguments, except those whose names
// contain the text after the "-" of another argument. Prints every failure and ends with "N passed, N
// failed". Returns 1 if a test failed or none ran.
#include <chrono>
#include <cstring>

#include "check.hpp"

namespace {

bool wanted(const char* name, int argc, char** argv) {
  bool all = true, named = false;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') {
      if (std::strstr(name, argv[i] + 1) != nullptr) return false;
    } else {
      all = false;
      named = named || std::strstr(name, argv[i]) != nullptr;
    }
  }
  return all || named;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace scrubjay::check;
  int n_passed = 0;
  int n_failed = 0;
  int n_skipped = 0;
  for (const Test& test : registry()) {
    if (!wanted(test.name, argc, argv)) continue;
    n_failures() = 0;
    const auto start = std::chrono::steady_clock::now();
    try {
      test.run();
    } catch (const Skipped& skipped) {
      std::printf("skipped %s: %s\n", test.name, skipped.reason.c_str());
      ++n_skipped;
      continue;
    } catch (const std::exception& error) {
      fail(test.name, 0, std::string("left by an exception: ") + error.what());
    } catch (...) {
      fail(test.name, 0, "left by an exception that is not a std::exception");
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (seconds.count() > 1.0) std::printf("%s took %.1f s\n", test.name, seconds.count());
    if (n_failures() == 0) {
      ++n_passed;
    } else {
      ++n_failed;
      std::fprintf(stderr, "FAILED %s\n", test.name);
    }
  }
  std::fflush(stderr);
  if (n_passed + n_failed + n_skipped == 0) std::printf("no test ran\n");
  std::printf("%d passed, %d failed", n_passed, n_failed);
  if (n_skipped > 0) std::printf(", %d skipped", n_skipped);
  std::printf("\n");
  return n_failed > 0 || n_passed + n_skipped == 0 ? 1 : 0;
}
