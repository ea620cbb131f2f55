// Value: the values in a filter: null, booleans, numbers, times, texts, lists, and mappings of
// keys to values.
//
// An interface, so that a host's values (bindings/filter.cpp: Python objects) are read in place and on
// demand; Literal is an in-memory tree for C++ callers. Only language.cpp reads values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace scrubjay::filter {

class Value {
 public:
  enum class Kind : uint8_t { null, boolean, integer, real, time, text, object, other };
  using ItemVisitor = std::function<void(const Value& key, const Value& value)>;
  using ElementVisitor = std::function<void(size_t position, const Value& element)>;

  [[nodiscard]] virtual Kind kind() const = 0;

  // Each accessor requires that kind; otherwise undefined.
  [[nodiscard]] virtual bool boolean() const = 0;
  [[nodiscard]] virtual std::optional<int64_t> integer() const = 0;  // nullopt: more than 64 bits
  [[nodiscard]] virtual std::optional<double> real() const = 0;      // of any number; nullopt: too large
  [[nodiscard]] virtual int64_t time() const = 0;                    // microseconds since 1970
  // UTF-8, possibly with lone surrogates: the form of texts in payloads.
  [[nodiscard]] virtual std::string text() const = 0;

  // Calls `visit` for each item or element in order; returns false, without a call, if the value has none by
  // its type. Objects have items; a host may have other values with items.
  [[nodiscard]] virtual bool each_item(const ItemVisitor& visit) const = 0;
  [[nodiscard]] virtual bool each_element(const ElementVisitor& visit) const = 0;

  // The time that a value of any other kind means; throws an error that says what `where` expects.
  [[nodiscard]] virtual int64_t as_time(const std::string& where) const = 0;

  // For messages: "list" and "[1, 2]".
  [[nodiscard]] virtual std::string type_name() const = 0;
  [[nodiscard]] virtual std::string quoted() const = 0;

 protected:
  ~Value() = default;
};

// An in-memory tree of values.
class Literal final : public Value {
 public:
  struct Time {
    int64_t microseconds;
  };
  using List = std::vector<Literal>;
  using Object = std::vector<std::pair<Literal, Literal>>;  // keys must be texts, otherwise an error

  Literal() = default;  // null
  Literal(bool value) : value_(value) {}
  Literal(int64_t value) : value_(value) {}
  Literal(int value) : value_(int64_t{value}) {}
  Literal(double value) : value_(value) {}
  Literal(Time value) : value_(value) {}
  Literal(std::string value) : value_(std::move(value)) {}
  Literal(const char* value) : value_(std::string(value)) {}
  Literal(List value) : value_(std::move(value)) {}
  Literal(Object value) : value_(std::move(value)) {}

  [[nodiscard]] Kind kind() const override;
  [[nodiscard]] bool boolean() const override { return std::get<bool>(value_); }
  [[nodiscard]] std::optional<int64_t> integer() const override { return std::get<int64_t>(value_); }
  [[nodiscard]] std::optional<double> real() const override;
  [[nodiscard]] int64_t time() const override { return std::get<Time>(value_).microseconds; }
  [[nodiscard]] std::string text() const override { return std::get<std::string>(value_); }
  [[nodiscard]] bool each_item(const ItemVisitor& visit) const override;
  [[nodiscard]] bool each_element(const ElementVisitor& visit) const override;
  [[nodiscard]] int64_t as_time(const std::string& where) const override;
  [[nodiscard]] std::string type_name() const override;
  [[nodiscard]] std::string quoted() const override;

 private:
  void write(std::string& out) const;

  std::variant<std::monostate, bool, int64_t, double, Time, std::string, List, Object> value_;
};

}  // namespace scrubjay::filter
