// Images of chunks: a written image reads back the same; a damaged one is rejected and leaves
// the engine unchanged.
#include "engine/image.hpp"

#include <atomic>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "check.hpp"
#include "engine/engine.hpp"
#include "storages.hpp"

namespace {

using namespace scrubjay;
using engine::DocumentInput;
using engine::Engine;
using engine::EngineOptions;
using engine::Id;
using engine::Scope;
using engine::ScopeRef;

EngineOptions options(vector::Storage storage = vector::Storage::f16, uint32_t chunk_docs = 64) {
  EngineOptions made;
  made.storage = storage;
  made.chunk_docs = chunk_docs;
  return made;
}

ScopeRef scope() { return std::make_shared<Scope>("acme", "jane", std::nullopt); }

// Documents with short and long terms, some without vectors, some deleted, some replaced.
void fill(Engine& engine, const ScopeRef& where, int n_docs, bool string_ids, unsigned seed) {
  std::mt19937 random(seed);
  const char* words[] = {"oak",          "jay",         "acorn", "sk-stg-0041", "internationalization",
                         "na\xc3\xafve", "\xe9\xb8\x9f"};
  std::vector<std::string> names;
  for (int i = 0; i < n_docs; ++i) names.push_back("document-" + std::to_string(i));
  const auto id_of = [&](int i) {
    return string_ids ? Id::of(std::string_view(names[static_cast<size_t>(i)])) : Id::of(int64_t{i} - 3);
  };
  for (int i = 0; i < n_docs; ++i) {
    std::string text;
    for (unsigned w = random() % 30; w != 0; --w)
      text += std::string(words[random() % 7]) + " t" + std::to_string(random() % 40) + " ";
    const float vector[] = {static_cast<float>(random() % 100) - 50.5f, 1e-6f,
                            static_cast<float>(random() % 7), -2.0f};
    DocumentInput document{id_of(i), text, std::nullopt, where, {}};
    const float several[] = {
        1.0f, 2.0f, static_cast<float>(i), -4.0f, 0.5f, static_cast<float>(random() % 9), -1.0f, 3.0f};
    const auto at = static_cast<uint32_t>(i);
    const vector::PassageSpan spans[] = {{0, at}, {at, 2 * at}};
    if (i % 5 != 0) document.vector = vector;
    if (i % 7 == 3) {
      document.vector = several;
      document.passages = spans;
    }
    if (i % 3 == 0) document.payload = "payload \xff bytes";
    static_cast<void>(engine.upsert({&document, 1}));
  }
  for (int i = 0; i < n_docs; i += 4) {
    const engine::DocumentKey key{where.get(), id_of(i)};
    CHECK_EQ(engine.remove({&key, 1}), 1u);
  }
}

std::vector<std::string_view> views(const std::vector<std::string>& images) {
  return {images.begin(), images.end()};
}

void check_same(const engine::Digest& a, const engine::Digest& b) {
  CHECK_EQ(a.n_docs, b.n_docs);
  CHECK_EQ(a.n_postings, b.n_postings);
  CHECK_EQ(a.n_vectors, b.n_vectors);
  CHECK_EQ(a.documents, b.documents);
  CHECK_EQ(a.postings, b.postings);
  CHECK_EQ(a.vectors, b.vectors);
  CHECK_EQ(a.total_length, b.total_length);
  CHECK_EQ(b.n_miscounted, 0u);
}

// The images as they arrive in pieces of random sizes up to `most`.
std::vector<engine::ArrivingImage> in_pieces(const Engine& engine, const std::vector<std::string>& images,
                                             size_t most, std::mt19937& random) {
  std::vector<engine::ArrivingImage> arriving;
  for (const std::string_view image : images) {
    arriving.push_back(engine.arriving_image(scope(), image.size() + random() % 2 * 16));
    for (size_t at = 0; at < image.size();) {
      const size_t n = 1 + random() % most;
      arriving.back().add(image.substr(at, n));
      at += n;
    }
  }
  return arriving;
}

}  // namespace

// Images of many sections and sizes: whole, or in pieces that begin and end anywhere.
TEST(image_in_pieces_is_the_same_partition) {
  std::mt19937 random(6);
  for (const bool string_ids : {false, true}) {
    for (const int n_docs : {1, 2, 65, 300}) {
      Engine written(options());
      fill(written, scope(), n_docs, string_ids, 17);
      const std::vector<std::string> images = written.save_partition(*scope());
      for (const size_t most : {1u, 7u, 300u, 70'000u}) {
        Engine read(options());
        std::vector<engine::ArrivingImage> arriving = in_pieces(read, images, most, random);
        CHECK_EQ(read.load_partition(scope(), arriving), written.count(nullptr));
        check_same(written.digest(*scope()), read.digest(*scope()));
        CHECK(images == read.save_partition(*scope()));
      }
    }
  }
}

TEST(image_in_pieces_is_refused_when_damaged) {
  Engine written(options());
  fill(written, scope(), 90, true, 5);
  const std::vector<std::string> images = written.save_partition(*scope());
  std::mt19937 random(12);
  for (int round = 0; round < 600; ++round) {
    std::vector<std::string> damaged = images;
    std::string& image = damaged[random() % damaged.size()];
    const size_t at = round % 2 == 0 ? random() % 80 : random() % image.size();  // often the header
    if (round % 3 == 0) {
      image.resize(at);
    } else if (round % 3 == 1) {
      image[at] ^= static_cast<char>(1u << (random() % 8));
    } else {
      image.append(1 + random() % 9, '\0');
    }
    Engine read(options());
    const auto load = [&] {
      std::vector<engine::ArrivingImage> arriving = in_pieces(read, damaged, 1 + random() % 5000, random);
      static_cast<void>(read.load_partition(scope(), arriving));
    };
    CHECK_THROWS(load(), base::Corrupt);
    CHECK_EQ(read.count(nullptr), 0u);
  }
}

TEST(image_of_vectors_near_the_ends_of_single_precision_comes_back) {
  for (const vector::Storage storage : kStorages) {
    Engine written(options(storage)), read(options(storage));
    int64_t id = 0;
    for (const float largest : {1e-45f, 1e-38f, 1.6e38f, 1.8e38f, 3.4e38f}) {
      const float vector[] = {largest, 0.0f, -1e-3f * largest, 1e-6f * largest};
      const DocumentInput document{Id::of(id++), "oak", std::nullopt, scope(), vector};
      static_cast<void>(written.upsert({&document, 1}));
    }
    CHECK_EQ(read.load_partition(scope(), views(written.save_partition(*scope()))), 5u);
    check_same(written.digest(*scope()), read.digest(*scope()));
  }
}

TEST(image_of_a_partition_comes_back_the_same) {
  for (const vector::Storage storage : kStorages) {
    for (const bool string_ids : {false, true}) {
      for (const int n_docs : {1, 2, 63, 64, 65, 300}) {
        Engine written(options(storage));
        fill(written, scope(), n_docs, string_ids, 17);
        const std::vector<std::string> images = written.save_partition(*scope());
        Engine read(options(storage));
        CHECK_EQ(read.load_partition(scope(), views(images)), written.count(nullptr));
        CHECK_EQ(read.count(nullptr), written.count(nullptr));
        check_same(written.digest(*scope()), read.digest(*scope()));
        CHECK(read.partition_bytes(*scope()) > 0 || written.count(nullptr) == 0);

        const float query[] = {1.0f, 2.0f, 3.0f, 4.0f};
        engine::SearchRequest request;
        request.text = "oak internationalization t7";
        request.vector = query;
        const ScopeRef from = scope();
        request.scope = from.get();
        request.k = 1000;
        const auto expected = written.search(request), given = read.search(request);
        CHECK_EQ(expected.hits.size(), given.hits.size());
        for (size_t i = 0; i < expected.hits.size(); ++i) {
          CHECK_EQ(expected.hits[i].score, given.hits[i].score);
          CHECK(expected.chunk_of(expected.hits[i]).text(expected.hits[i].offset) ==
                given.chunk_of(given.hits[i]).text(given.hits[i].offset));
        }

        // It can be written to like any other.
        fill(written, scope(), n_docs, string_ids, 18);
        fill(read, scope(), n_docs, string_ids, 18);
        check_same(written.digest(*scope()), read.digest(*scope()));
        CHECK_EQ(read.erase(*scope(), true), written.count(nullptr));
      }
    }
  }
}

// Ids are entered by the first lookup, in any thread, and count from the beginning.
TEST(image_loads_its_ids_at_the_first_lookup) {
  Engine written(options());
  fill(written, scope(), 300, true, 4);
  const auto images = written.save_partition(*scope());
  const size_t n_docs = written.count(nullptr);
  for (int round = 0; round < 20; ++round) {
    Engine read(options());
    CHECK_EQ(read.load_partition(scope(), views(images)), n_docs);
    CHECK_EQ(read.count(nullptr), n_docs);
    std::atomic<size_t> n_found{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        if (t == 0) {
          const DocumentInput more{
              Id::of(std::string_view("document-new")), "acorn", std::nullopt, scope(), {}};
          static_cast<void>(read.upsert({&more, 1}));
          return;
        }
        for (int i = 0; i < 300; ++i) {
          const std::string name = "document-" + std::to_string(i);
          if (read.get(Id::of(std::string_view(name)), *scope())) ++n_found;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(n_found.load(), 3 * n_docs);
    CHECK_EQ(read.count(nullptr), n_docs + 1);
    CHECK_EQ(read.erase(*scope(), true), n_docs + 1);
    CHECK_EQ(read.count(nullptr), 0u);
    // Erased before any lookup.
    CHECK_EQ(read.load_partition(scope(), views(images)), n_docs);
    CHECK_EQ(read.erase(*scope(), true), n_docs);
    CHECK_EQ(read.count(nullptr), 0u);
    CHECK(!read.get(Id::of(std::string_view("document-1")), *scope()));
  }
}

TEST(image_omits_deleted_documents) {
  Engine engine(options());
  const DocumentInput kept{Id::of(int64_t{1}), "acorn kept", std::nullopt, scope(), {}};
  const DocumentInput gone{Id::of(int64_t{2}), "verysecretword", "secretpayload", scope(), {}};
  static_cast<void>(engine.upsert({&kept, 1}));
  static_cast<void>(engine.upsert({&gone, 1}));
  const engine::DocumentKey key = gone.key();
  CHECK_EQ(engine.remove({&key, 1}), 1u);
  const auto images = engine.save_partition(*scope());
  CHECK_EQ(images.size(), 1u);
  CHECK(images[0].find("kept") != std::string::npos);
  CHECK(images[0].find("secret") == std::string::npos);
}

TEST(image_that_was_damaged_is_refused) {
  Engine written(options());
  fill(written, scope(), 100, true, 3);
  const auto images = written.save_partition(*scope());
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> damaged = images;
    std::string& image = damaged[random() % damaged.size()];
    if (round % 3 == 0) {
      image.resize(random() % image.size());
    } else if (round % 3 == 1) {
      image[random() % image.size()] ^= static_cast<char>(1u << (random() % 8));
    } else {
      image.append(1 + random() % 9, '\0');
    }
    Engine read(options());
    CHECK_THROWS(static_cast<void>(read.load_partition(scope(), views(damaged))), base::Corrupt);
    CHECK_EQ(read.count(nullptr), 0u);
    CHECK_EQ(read.load_partition(scope(), views(images)), written.count(nullptr));
  }
}

TEST(image_must_fit_the_engine) {
  Engine written(options());
  fill(written, scope(), 30, false, 3);
  const auto images = written.save_partition(*scope());
  const auto refuses = [&](EngineOptions other) {
    Engine read(std::move(other));
    CHECK_THROWS(static_cast<void>(read.load_partition(scope(), views(images))), base::Corrupt);
  };
  refuses(options(vector::Storage::f32));
  EngineOptions other = options();
  other.metric = vector::Metric::l2;
  refuses(other);
  other = options();
  other.dim = 5;
  refuses(other);
  other = options();
  other.analyzer.name = "plain";
  refuses(other);

  // The same ids in another scope are other documents; duplicates within one partition are an error.
  const ScopeRef elsewhere = std::make_shared<Scope>("globex", std::nullopt, std::nullopt);
  const size_t n_docs = written.count(scope().get());
  CHECK_EQ(written.load_partition(elsewhere, views(images)), n_docs);
  CHECK_EQ(written.count(nullptr), 2 * n_docs);
  CHECK_EQ(written.erase(*elsewhere, true), n_docs);
  CHECK_THROWS(static_cast<void>(written.load_partition(scope(), views(images))), base::InvalidArgument);
  Engine twice(options());
  std::vector<std::string_view> doubled = views(images);
  doubled.push_back(doubled[0]);
  CHECK_THROWS(static_cast<void>(twice.load_partition(scope(), doubled)), base::Corrupt);
  CHECK_EQ(twice.count(nullptr), 0u);
  CHECK_EQ(twice.load_partition(scope(), views(images)), written.count(nullptr));
}

// Their tables differ in memory (each has a salt) and in their history.
TEST(image_of_equal_documents_is_equal_bytes) {
  for (const int n_docs : {7, 60}) {
    const auto filled = [&](Engine& engine) { fill(engine, scope(), n_docs, true, 11); };
    Engine one(options()), other(options()), read(options());
    filled(one);
    filled(other);
    const auto images = one.save_partition(*scope());
    CHECK(images == other.save_partition(*scope()));
    CHECK_EQ(read.load_partition(scope(), views(images)), one.count(nullptr));
    CHECK(images == read.save_partition(*scope()));
    static_cast<void>(one.compact());
    CHECK(images == one.save_partition(*scope()));
  }
}

// Made by this code with the fixed keys of stored terms; the number was computed by another process with
// another seed.
TEST(image_has_the_same_bytes_in_every_process) {
  Engine engine(options());
  const std::string text = "the oak stood by internationalization of sk-stg-0041, na\xc3\xafve jays";
  for (int64_t i = 0; i < 20; ++i) {
    const std::string own = text + " and reminder number " + std::to_string(1000 * i);
    const DocumentInput document{Id::of(i), own, std::nullopt, scope(), {}};
    static_cast<void>(engine.upsert({&document, 1}));
  }
  const auto images = engine.save_partition(*scope());
  CHECK_EQ(images.size(), 1u);
  CHECK_EQ(base::hash64(images[0]), 0x90df6bb592d2070bu);
  CHECK_EQ(engine.digest(*scope()).postings, 0xf584b8aa587dcba1u);
  CHECK_EQ(engine.digest(*scope()).documents, 0x4c18b6c037dbb6e1u);
}
