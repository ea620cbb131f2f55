// Drives a fuzzer if the compiler has no libFuzzer (gcc): inputs are made by a seeded generator, so
// that a run can be repeated. It does not see coverage; it mutates seeds that are rich in the cases
// that our code distinguishes.
//
// Options, as for libFuzzer: -max_total_time=SECONDS (default 10), -runs=N (no limit by default), -seed=N
// (default 1), -max_len=N (default 4096); other options are ignored. Other arguments are files to run once
// each (crashes), or directories of them (a corpus); with -runs=0 or only files nothing else is run. The last
// input is written to crash-<fuzzer>-<seed>-<run> when a sanitizer or a signal ends the program.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                                     std::size_t max_size, unsigned int seed);
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

// gcc's UBSan has its own runtime, without a death callback: make it abort.
extern "C" __attribute__((visibility("default"))) const char* __ubsan_default_options() {
  return "abort_on_error=1:print_stacktrace=1";
}

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

Bytes current;
std::string crash_name;

void write_current() {
  std::ofstream(crash_name, std::ios::binary)
      .write(reinterpret_cast<const char*>(current.data()), static_cast<std::streamsize>(current.size()));
  std::fprintf(stderr, "input of %zu bytes written to %s\n", current.size(), crash_name.c_str());
}

void on_abort(int signal) {
  write_current();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Fragments that exercise the decisions of UTF-8 decoding, word breaks, identifiers, stemming and folding.
constexpr std::string_view fragments[] = {
    "sk-stg-0041",
    "TS-999",
    "jane@acme.com",
    "v2.1.3",
    "10.0.0.1",
    "snake_case",
    "camelCase",
    "src/api/chat.ts",
    "#4711",
    "E0308",
    "C++",
    // Payloads: metadata and times, complete and in pieces.
    R"({"metadata":{"a":"x","b":[1,"p"],"c":-0.5e3},"created_at":"2026-03-01T09:30:00+00:00"})",
    R"({"metadata":{)",
    R"("a":"x\u00e9\n")",
    R"("b":["p",{"r":[true]}])",
    R"("c":-9223372036854775808)",
    R"(,"created_at":"2026-03-01T09:30:00.000001+00:00")",
    "}}",
    ",",
    "C#",
    "running",
    "generously",
    "don't",
    "Straße",
    "İstanbul",
    "ﬁne",
    "日本語のテキスト",
    "ไทยภาษา",
    "한국어",
    "مرحبا",
    "e\u0301",
    "👩‍👩‍👧",
    "\xc3",
    "\xe2\x82",
    "\xf0\x9f",
    "\xed\xa0\x80",
    "\xf4\x90\x80\x80",
    "\xc0\x80",
    "\xff",
    "\xef\xbb\xbf",
    "\u200b",
    "\u00ad",
    "\u0000",
    " ",
    "\n",
    "-",
    "_",
    ".",
    "@",
    "/",
    ":",
    "+",
    "#",
    "--",
    "..",
    "a",
    "Z",
    "0",
    "9999999999999999999999",
    "\"",
    "'",
    "(",
    ")",
    "AND",
    "OR",
};

std::string_view any_fragment(Random& random) { return fragments[random() % std::size(fragments)]; }

void mutate(Bytes& input, Random& random, std::size_t max_len) {
  const std::size_t at = input.empty() ? 0 : random() % (input.size() + 1);
  const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 7) {
    case 0:
    case 1: {  // a meaningful fragment
      const auto piece = any_fragment(random);
      input.insert(position, piece.begin(), piece.end());
      break;
    }
    case 2:  // a byte
      input.insert(position, static_cast<std::uint8_t>(random()));
      break;
    case 3:  // a flipped bit
      if (at < input.size()) input[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
      break;
    case 4:  // a part cut out
      if (at < input.size()) {
        const auto length = 1 + random() % std::min<std::size_t>(input.size() - at, 16);
        input.erase(position, position + static_cast<std::ptrdiff_t>(length));
      }
      break;
    case 5: {  // a part repeated, often beyond a buffer's size
      const std::size_t begin = input.empty() ? 0 : random() % input.size();
      const Bytes part(
          input.begin() + static_cast<std::ptrdiff_t>(begin),
          input.begin() + static_cast<std::ptrdiff_t>(std::min(input.size(), begin + 1 + random() % 64)));
      Bytes repeated;
      for (std::uint64_t n = 1 + random() % 8; n > 0; --n)
        repeated.insert(repeated.end(), part.begin(), part.end());
      input.insert(position, repeated.begin(), repeated.end());
      break;
    }
    default:  // a run of one letter
      input.insert(position, 1 + random() % 300, static_cast<std::uint8_t>('a' + random() % 26));
      break;
  }
  if (input.size() > max_len) input.resize(max_len);
}

Random* drawn = nullptr;  // by LLVMFuzzerMutate

// Changes an input with the fuzzer's own mutator, if it has one.
void change(Bytes& input, Random& random, std::size_t max_len) {
  if (LLVMFuzzerCustomMutator == nullptr) {
    mutate(input, random, max_len);
    return;
  }
  const std::size_t size = std::min(input.size(), max_len);
  input.resize(max_len);
  input.resize(LLVMFuzzerCustomMutator(input.data(), size, max_len, static_cast<unsigned>(random())));
}

void run_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  current.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  crash_name = "crash-of-" + file.filename().string();
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

bool option(std::string_view argument, std::string_view name, std::uint64_t& value) {
  if (argument.substr(0, name.size()) != name) return false;
  value = std::strtoull(argument.data() + name.size(), nullptr, 10);
  return true;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  Bytes input(data, data + size);
  mutate(input, *drawn, max_size);
  std::copy(input.begin(), input.end(), data);
  return input.size();
}

int main(int argc, char** argv) {
  std::uint64_t seconds = 10;
  std::uint64_t n_runs = UINT64_MAX;
  std::uint64_t seed = 1;
  std::uint64_t max_len = 4096;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (option(argument, "-max_total_time=", seconds) || option(argument, "-runs=", n_runs) ||
        option(argument, "-seed=", seed) || option(argument, "-max_len=", max_len))
      continue;
    if (argument.substr(0, 1) != "-") files.emplace_back(argument);
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(write_current);
  std::signal(SIGABRT, on_abort);
  const char* program = std::strrchr(argv[0], '/');
  program = program == nullptr ? argv[0] : program + 1;
  std::size_t n_files = 0;
  bool only_files = !files.empty();
  for (const std::string& file : files) {
    if (!std::filesystem::is_directory(file)) {
      run_file(file);
      ++n_files;
      continue;
    }
    only_files = false;
    for (const auto& entry : std::filesystem::directory_iterator(file)) {
      if (!entry.is_regular_file()) continue;
      run_file(entry.path());
      ++n_files;
    }
  }
  if (n_files != 0) std::printf("%s: %zu files passed\n", program, n_files);
  if (only_files || n_runs == 0) return 0;

  Random random(seed);
  drawn = &random;
  Bytes kept;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t run = 0;
  for (; run < n_runs && std::chrono::steady_clock::now() < end; ++run) {
    current = kept;
    for (std::uint64_t n = 1 + random() % 8; n > 0; --n) change(current, random, max_len);
    // Grow one input for a while, then start over: short inputs are as useful as long ones.
    if (random() % 64 == 0) {
      kept.clear();
    } else if (random() % 4 == 0) {
      kept = current;
    }
    crash_name = std::string("crash-") + program + "-" + std::to_string(seed) + "-" + std::to_string(run);
    LLVMFuzzerTestOneInput(current.data(), current.size());
  }
  std::printf("%s: %llu inputs, seed %llu, no finding\n", program, static_cast<unsigned long long>(run),
              static_cast<unsigned long long>(seed));
  return run > 0 ? 0 : 1;
}
