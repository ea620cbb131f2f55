// A caller who knows the fixed hash cannot cause more work per byte than any other: hostile keys cost at most
// 1.5 times as much CPU as the same number of others.
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "check.hpp"
#include "engine/engine.hpp"
#include "hostile_words.hpp"
#include "lexical/posting_table.hpp"

using namespace scrubjay;
using engine::DocumentInput;
using engine::Engine;
using engine::EngineOptions;
using engine::Id;
using engine::Scope;
using engine::ScopeRef;

namespace {

constexpr size_t kWords = 8000;
constexpr unsigned kBits = 8;  // number of equal bits: all homes in a 256th of a table

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Words = std::vector<std::string>;
// Prepares untimed, and returns the timed function.
using Prepare = std::function<std::function<void()>(const Words&)>;

// The minimum of several alternating rounds; a busy machine gets more rounds.
void check_cost(const char* what, const Words& hostile, const Words& others, const Prepare& prepare) {
  double worst = 1e9, usual = 1e9;
  const auto time = [&](const Words& words, double& least) {
    const std::function<void()> run = prepare(words);
    const double start = cpu_seconds();
    run();
    least = std::min(least, cpu_seconds() - start);
  };
  for (int round = 0; round < 20 && (round < 3 || worst > 1.5 * usual); ++round) {
    time(others, usual);
    time(hostile, worst);
  }
  if (worst > 1.5 * usual)
    check::fail(
        __FILE__, __LINE__,
        std::string(what) + ": hostile words cost " + std::to_string(worst / usual) + " times others");
}

std::unique_ptr<Engine> make() {
  EngineOptions options;
  options.analyzer.name = "plain";
  return std::make_unique<Engine>(std::move(options));
}

ScopeRef scope(std::string_view tenant = "acme") {
  return std::make_shared<Scope>(tenant, std::nullopt, std::nullopt);
}

std::string text_of(const Words& words) {
  std::string text;
  for (const std::string& word : words) (text += word) += ' ';
  return text;
}

void write(Engine& engine, const Id& id, const ScopeRef& where, std::string_view text,
           std::optional<std::string_view> payload = std::nullopt) {
  const DocumentInput document{id, text, payload, where, {}};
  static_cast<void>(engine.upsert({&document, 1}));
}

Words others(size_t length, size_t n = kWords) {
  return hostile::words(n, length, [](const std::string& made) { return base::hash64(made) % 7 == 3; });
}

void check_texts(const Words& bad, const Words& good) {
  check_cost("one text", bad, good, [](const Words& words) {
    return [text = text_of(words)] { write(*make(), Id::of(1), scope(), text); };
  });
  check_cost("many texts", bad, good, [](const Words& words) {
    return [&words] {
      const auto engine = make();
      std::string text;
      for (size_t i = 0; i < words.size(); ++i) {
        (text += words[i]) += ' ';
        if (i % 200 != 199) continue;
        write(*engine, Id::of(static_cast<int64_t>(i)), scope(), text);
        text.clear();
      }
    };
  });
  check_cost("a text in the place of another", bad, good, [](const Words& words) {
    std::shared_ptr<Engine> engine = make();
    const std::string text = text_of(words);
    write(*engine, Id::of(1), scope(), text);
    return [engine, text] { write(*engine, Id::of(1), scope(), text); };
  });
  check_cost("compaction", bad, good, [](const Words& words) {
    std::shared_ptr<Engine> engine = make();
    write(*engine, Id::of(1), scope(), text_of(words));
    write(*engine, Id::of(2), scope(), "gone");
    const ScopeRef where = scope();
    const engine::DocumentKey gone{where.get(), Id::of(2)};
    static_cast<void>(engine->remove({&gone, 1}));
    return [engine] { CHECK_EQ(engine->compact(), 1u); };
  });
  check_cost("an image that is read", bad, good, [](const Words& words) {
    const auto engine = make();
    write(*engine, Id::of(1), scope(), text_of(words));
    return [images = engine->save_partition(*scope())] {
      const std::vector<std::string_view> views(images.begin(), images.end());
      CHECK_EQ(make()->load_partition(scope(), views), 1u);
    };
  });
  check_cost("a search", bad, good, [](const Words& words) {
    std::shared_ptr<Engine> engine = make();
    const std::string text = text_of(words);
    write(*engine, Id::of(1), scope(), text);
    return [engine, text] {
      const ScopeRef where = scope();
      engine::SearchRequest request;
      request.text = text;
      request.scope = where.get();
      CHECK_EQ(engine->search(request).hits.size(), 1u);
    };
  });
}

}  // namespace

TEST(hostile_short_terms_cost_no_more_than_others) {
  check_texts(hostile::terms(kWords, kBits, 7), others(7));
}

TEST(hostile_long_terms_cost_no_more_than_others) {
  check_texts(hostile::terms(kWords, kBits, 12), others(12));
}

// Equal in the low bits, which once addressed the counter of one text's terms.
TEST(hostile_terms_of_one_text_cost_no_more_than_others) {
  check_texts(hostile::words(kWords, 12,
                             [](const std::string& made) { return hostile::fixed_home(made) % 256 == 0; }),
              others(12));
}

// Words whose stored keys are all equal: no mixing of the key could separate them.
TEST(hostile_terms_of_one_stored_key_cost_no_more_than_others) {
  Words bad;
  for (uint32_t i = 0; i < kWords; ++i) bad.push_back(hostile::swallowing(i));
  CHECK_EQ(text::stored_term_key(bad[1]), text::stored_term_key(bad[kWords - 1]));
  check_cost("postings", bad, others(12), [](const Words& words) {
    return [&words] {
      lexical::PostingTable table;
      for (const std::string& word : words)
        table.append(text::term_key(word), word, 0, lexical::pack_payload(1, 200), nullptr);
      CHECK_EQ(table.n_terms(), words.size());
    };
  });
}

TEST(hostile_ids_cost_no_more_than_others) {
  const auto cost = [](const char* what, const Words& bad, const Words& good, auto&& id_of) {
    check_cost(what, bad, good, [&id_of](const Words& words) {
      return [&words, &id_of] {
        const auto engine = make();
        for (const std::string& word : words) write(*engine, id_of(word), scope(), "");
        for (const std::string& word : words) CHECK(engine->get(id_of(word), *scope()).has_value());
      };
    });
  };
  const auto as_string = [](const std::string& word) { return Id::of(std::string_view(word)); };
  Words swallowing;
  for (uint32_t i = 0; i < kWords; ++i) swallowing.push_back(hostile::swallowing(i));
  cost("strings of one hash", swallowing, others(12), as_string);
  cost("strings",
       hostile::words(
           kWords, 12,
           [](const std::string& made) { return (base::hash64(made) & 0xffffffffu) >> (32 - kBits) == 0; }),
       others(12), as_string);
  // As words, so that they take the same path.
  const auto as_integer = [](const std::string& word) { return Id::of(std::stoll(word)); };
  Words bad, good;
  for (int64_t i = 1'000'000; bad.size() < kWords || good.size() < kWords; ++i) {
    const auto home = static_cast<uint32_t>(Id::of(i).stored_hash()) >> (32 - kBits);
    if (home == 0 && bad.size() < kWords) bad.push_back(std::to_string(i));
    if (home != 0 && good.size() < kWords) good.push_back(std::to_string(i));
  }
  cost("integers", bad, good, as_integer);
}

TEST(hostile_tenants_cost_no_more_than_others) {
  Words bad;
  // The encoding has five bytes before the name: the second word of eight is the one that cancels.
  for (uint32_t i = 0; i < kWords; ++i) bad.push_back("abc" + hostile::swallowing(i));
  check_cost("tenants", bad, others(15), [](const Words& words) {
    return [&words] {
      const auto engine = make();
      for (size_t i = 0; i < words.size(); ++i)
        write(*engine, Id::of(static_cast<int64_t>(i)), scope(words[i]), "");
      for (const std::string& word : words) CHECK_EQ(engine->count(scope(word).get()), 1u);
    };
  });
}

TEST(hostile_metadata_costs_no_more_than_other) {
  const Words bad = hostile::words(kWords, 12, [](const std::string& made) {
    return base::hash64(made) % 256 == 0;  // the low bits were the bucket
  });
  const auto payload = [](const Words& words, const char* begin, const char* end, const char* behind) {
    std::string json = begin;
    for (size_t i = 0; i < words.size(); ++i) json += (i == 0 ? "\"" : ",\"") + words[i] + behind;
    return json + end;
  };
  check_cost("values", bad, others(12), [&](const Words& words) {
    return [json = payload(words, "{\"metadata\":{\"a\":[", "]}}", "\"")] {
      write(*make(), Id::of(1), scope(), "", json);
    };
  });
  check_cost("fields", bad, others(12), [&](const Words& words) {
    return [json = payload(words, "{\"metadata\":{", "}}", "\":1")] {
      write(*make(), Id::of(1), scope(), "", json);
    };
  });
}
