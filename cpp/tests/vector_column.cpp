// Stored vectors and their similarities are within the bounds documented in column.hpp.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "base/epoch.hpp"
#include "check.hpp"
#include "storages.hpp"
#include "vector/column.hpp"

using namespace scrubjay::vector;
namespace base = scrubjay::base;

namespace {

using Vector = std::vector<float>;

constexpr Metric kMetrics[] = {Metric::cosine, Metric::inner_product, Metric::l2};

Vector random_vector(std::mt19937& random, uint32_t dim, float scale = 1.0f) {
  std::normal_distribution<float> normal(0.0f, scale);
  Vector vector(dim);
  do {
    for (float& x : vector) x = random() % 8 == 0 ? 0.0f : normal(random);
  } while (norm(vector) == 0.0);
  return vector;
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double exact_similarity(Metric metric, const Vector& query, const Vector& vector) {
  switch (metric) {
    case Metric::cosine:
      return dot(query, vector) / (norm(query) * norm(vector));
    case Metric::inner_product:
      return dot(query, vector);
    case Metric::l2:
      break;
  }
  double sum = 0.0;
  for (size_t i = 0; i < query.size(); ++i) {
    const double difference = static_cast<double>(query[i]) - static_cast<double>(vector[i]);
    sum += difference * difference;
  }
  return -sum;
}

// The error of rounding a sum in single precision; the expanded square of the distance loses as much of |q|^2
// + |d|^2.
double bound(Metric metric, double query_norm, double vector_norm) {
  switch (metric) {
    case Metric::cosine:
      return 1e-6;
    case Metric::inner_product:
      return 1e-6 * query_norm * vector_norm;
    case Metric::l2:
      break;
  }
  return 1e-6 * (query_norm + vector_norm) * (query_norm + vector_norm);
}

// The greatest distance of a stored vector from the given one.
double rounding(Storage storage, const Vector& given) {
  if (storage == Storage::f16) return 5e-4 * norm(given);
  if (storage == Storage::f32) return 2e-7 * norm(given);
  float largest = 0.0f;
  for (const float x : given) largest = std::max(largest, std::fabs(x));
  return std::sqrt(static_cast<double>(given.size())) * static_cast<double>(largest) / 253.0;
}

Vector read(const Column& column, uint32_t doc) {
  Vector out(column.options().dim);
  column.read(doc, out);
  return out;
}

double distance(const Vector& a, const Vector& b) { return std::sqrt(-exact_similarity(Metric::l2, a, b)); }

}  // namespace

TEST(column_similarities_are_within_the_documented_bound) {
  std::mt19937 random(1);
  for (const Metric metric : kMetrics) {
    for (const Storage storage : kStorages) {
      for (uint32_t dim = 1; dim <= 70; ++dim) {
        Column column({dim, metric, storage});
        const float scale = std::ldexp(1.0f, static_cast<int>(random() % 40) - 20);
        for (uint32_t doc = 0; doc < 10; ++doc) column.append(doc, random_vector(random, dim, scale));
        for (int q = 0; q < 3; ++q) {
          const Vector query = random_vector(random, dim, q == 0 ? 1.0f : scale);
          PreparedQuery prepared;
          prepare_query(column.options(), query, prepared);
          for (uint32_t doc = 0; doc < 10; ++doc) {
            const Vector stored = read(column, doc);
            const double exact = exact_similarity(metric, query, stored);
            CHECK(std::fabs(static_cast<double>(column.similarity(doc, prepared)) - exact) <=
                  bound(metric, norm(query), norm(stored)));
          }
        }
      }
    }
  }
  base::collect_retired();
}

TEST(column_keeps_vectors_to_the_precision_of_its_storage) {
  std::mt19937 random(2);
  for (const Storage storage : kStorages) {
    for (const uint32_t dim : {1u, 2u, 15u, 16u, 17u, 64u, 70u, 768u, 4096u}) {
      Column column({dim, Metric::cosine, storage});
      for (uint32_t doc = 0; doc < 8; ++doc) {
        const Vector given = random_vector(random, dim, std::ldexp(1.0f, static_cast<int>(doc * 12) - 40));
        column.append(doc, given);
        CHECK(distance(given, read(column, doc)) <= rounding(storage, given));
      }
    }
  }
  base::collect_retired();
}

// Halves with any common scale are exact.
TEST(column_of_floats_returns_what_halves_can_hold_exactly) {
  std::mt19937 random(5);
  for (const Storage storage : {Storage::f16, Storage::f32}) {
    Column column({20, Metric::l2, storage});
    for (uint32_t doc = 0; doc < 50; ++doc) {
      Vector given(20);
      for (float& x : given)
        x = std::ldexp(static_cast<float>(static_cast<int>(random() % 2001) - 1000),
                       static_cast<int>(doc) - 25);
      given[doc % 20] = std::ldexp(1000.0f, static_cast<int>(doc) - 25);
      column.append(doc, given);
      CHECK(read(column, doc) == given);
    }
  }
  base::collect_retired();
}

// Steps have eight significant bits, and the largest element is 127 of them.
TEST(column_of_bytes_returns_what_they_can_hold_exactly) {
  std::mt19937 random(6);
  for (const Metric metric : kMetrics) {
    Column column({20, metric, Storage::i8}), again({20, metric, Storage::i8});
    for (uint32_t doc = 0; doc < 200; ++doc) {
      const float step =
          std::ldexp(static_cast<float>(128 + random() % 128), static_cast<int>(doc % 60) - 30);
      Vector given(20);
      for (float& x : given) x = step * static_cast<float>(static_cast<int>(random() % 255) - 127);
      given[doc % 20] = doc % 2 ? 127.0f * step : -127.0f * step;
      column.append(doc, given);
      CHECK(read(column, doc) == given);
      for (float& x : given) x *= 1.0f + static_cast<float>(random() % 100) / 4096.0f;
      column.append(++doc, given);
      again.append(doc, read(column, doc));
      CHECK(read(again, doc) == read(column, doc));
    }
  }
  base::collect_retired();
}

TEST(column_of_a_vector_with_itself) {
  std::mt19937 random(3);
  for (const Storage storage : kStorages) {
    for (const Metric metric : kMetrics) {
      Column column({33, metric, storage});
      for (uint32_t doc = 0; doc < 20; ++doc) {
        const Vector given = random_vector(random, 33);
        column.append(doc, given);
        PreparedQuery prepared;
        prepare_query(column.options(), read(column, doc), prepared);
        const double length = norm(given), similarity = column.similarity(doc, prepared);
        if (metric == Metric::cosine) CHECK(std::fabs(similarity - 1.0) <= 1e-6);
        if (metric == Metric::inner_product)
          CHECK(std::fabs(similarity - length * length) <= 2.1 * rounding(storage, given) * length + 1e-6);
        if (metric == Metric::l2)
          CHECK(similarity <= 0.0 && similarity >= -4e-6 * length * length);  // never positive
      }
    }
  }
  base::collect_retired();
}

TEST(column_takes_the_extremes_that_the_engine_admits) {
  for (const Storage storage : kStorages) {
    Column cosine({3, Metric::cosine, storage}), products({3, Metric::inner_product, storage});
    const Vector tiny{1e-45f, 0.0f, 0.0f}, small{1e-30f, -1e-30f, 1e-38f}, huge{3e38f, 0.0f, 1e30f},
        large{0.0f, 9e17f, 0.0f};
    for (Column* column : {&cosine, &products}) {
      column->append(0, tiny);
      column->append(1, small);
      column->append(2, large);
    }
    cosine.append(3, huge);
    PreparedQuery query;
    prepare_query(cosine.options(), tiny, query);
    CHECK(std::fabs(cosine.similarity(0, query) - 1.0f) <= 1e-6f);
    CHECK(std::fabs(cosine.similarity(1, query) - 0.70710678f) <= (storage == Storage::i8 ? 4e-3f : 1e-3f));
    CHECK(cosine.similarity(2, query) == 0.0f);
    CHECK(std::fabs(cosine.similarity(3, query) - 1.0f) <= 1e-6f);
    prepare_query(products.options(), large, query);
    for (uint32_t doc = 0; doc < 3; ++doc) CHECK(std::isfinite(products.similarity(doc, query)));
    CHECK(products.has(0) && cosine.has(0));
    base::collect_retired();
  }
}

TEST(column_leaves_out_documents_without_a_vector) {
  std::mt19937 random(4);
  for (const Storage storage : kStorages) {
    Column column({5, Metric::cosine, storage}), copy({5, Metric::cosine, storage});
    std::vector<std::optional<Vector>> model(3000);
    uint32_t n_copied = 0;
    for (uint32_t doc = 0; doc < model.size(); ++doc) {
      if (random() % 3 == 0) continue;  // not appended at all
      if (random() % 3 == 0) {
        column.append(doc, {});
        continue;
      }
      model[doc] = random_vector(random, 5);
      column.append(doc, *model[doc]);
    }
    for (uint32_t doc = 0; doc < model.size() + 100; ++doc) {
      const bool has = doc < model.size() && model[doc];
      CHECK_EQ(column.has(doc), has);
      if (!has) continue;
      CHECK(distance(read(column, doc), *model[doc]) <= rounding(storage, *model[doc]));
      copy.append_copy(n_copied, column, doc);
      CHECK(read(copy, n_copied) == read(column, doc));  // bit for bit
      CHECK(copy.scales()[n_copied].scale == column.scales()[doc].scale);
      CHECK(copy.scales()[n_copied].factor == column.scales()[doc].factor);
      n_copied += 1 + doc % 2;
    }
    CHECK(column.size() <= model.size());
  }
  base::collect_retired();
}
