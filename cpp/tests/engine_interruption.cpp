// A long call ends when its caller requests it, and leaves the engine as if it had not begun.
#include <memory>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "check.hpp"
#include "engine/engine.hpp"

using namespace scrubjay::engine;
namespace base = scrubjay::base;

namespace {

const std::optional<std::string_view> kNone;
const ScopeRef& home() {
  static const ScopeRef scope = std::make_shared<Scope>("acme", kNone, kNone);
  return scope;
}

template <class Call>
bool interrupted(Call&& call) {
  const base::Interruptible interruptible([](void*) { throw base::Interrupted("enough"); }, nullptr);
  try {
    call();
  } catch (const base::Interrupted&) {
    return true;
  }
  return false;
}

std::string long_text(size_t n_words) {
  std::string text;
  for (size_t i = 0; i < n_words; ++i) text += "word" + std::to_string(i * 7919 % 1000003) + " ";
  return text;
}

}  // namespace

TEST(an_interrupted_write_leaves_nothing) {
  Engine engine({});
  const DocumentInput first{Id::of(int64_t{1}), "oak", std::nullopt, home(), {}};
  CHECK_EQ(engine.upsert({&first, 1}), 1);
  const Digest before = engine.digest(*home());
  const std::string text = long_text(1'400'000);  // 15 MB: below the limit of a text
  const DocumentInput input{Id::of(int64_t{1}), text, std::nullopt, home(), {}};
  CHECK(interrupted([&] { static_cast<void>(engine.upsert({&input, 1})); }));
  const Digest after = engine.digest(*home());
  CHECK_EQ(after.documents, before.documents);
  CHECK_EQ(after.postings, before.postings);
  CHECK_EQ(after.n_miscounted, 0);
  const DocumentInput next{Id::of(int64_t{2}), "elm", std::nullopt, home(), {}};
  CHECK_EQ(engine.upsert({&next, 1}), 1);
  CHECK_EQ(engine.count(nullptr), 2);
}

TEST(interrupted_upkeep_is_abandoned) {
  Engine engine({});
  for (int64_t id = 0; id < 20'000; ++id) {
    const std::string text = long_text(1 + static_cast<size_t>(id) % 40);
    const std::vector<float> vector{1.0f, static_cast<float>(id % 251), static_cast<float>(id % 83), 0.5f};
    const DocumentInput input{Id::of(id), text, std::nullopt, home(), vector};
    static_cast<void>(engine.upsert({&input, 1}));
  }
  CHECK(interrupted([&] { static_cast<void>(engine.build_graphs(1)); }));
  CHECK_EQ(engine.stats(nullptr).n_graphs, 0);
  CHECK(interrupted([&] {
    for (;;) static_cast<void>(engine.save_partition(*home()));
  }));
  CHECK(interrupted([&] {
    for (;;) static_cast<void>(engine.digest(*home()));
  }));
  for (int64_t id = 0; id < 20'000; id += 2) {
    const DocumentKey removed{home().get(), Id::of(id)};
    static_cast<void>(engine.remove({&removed, 1}));
  }
  const Digest before = engine.digest(*home());
  static_cast<void>(interrupted([&] { static_cast<void>(engine.compact()); }));
  CHECK_EQ(engine.digest(*home()).documents, before.documents);
  CHECK_EQ(engine.digest(*home()).n_miscounted, 0);
  static_cast<void>(engine.compact());
  CHECK_EQ(engine.digest(*home()).postings, before.postings);
}
