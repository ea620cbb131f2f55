// A small C++ test framework: a registry and three checks.
//
//   TEST(top_k_keeps_the_best) {
//     CHECK(queue.size() == 3);
//     CHECK_EQ(queue.best(), 7);
//     CHECK_THROWS(queue.at(9), InvalidArgument);
//   }
//
// A failed check prints file, line and values and counts the test as failed; the test continues. An exception
// that leaves a test fails it. Checks may be made from several threads at once. main.cpp runs the tests.
#pragma once

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace scrubjay::check {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& registry() {
  static std::vector<Test> tests;
  return tests;
}

struct Registration {
  Registration(const char* name, void (*run)()) { registry().push_back({name, run}); }
};

// Failed checks of the running test.
inline std::atomic<int>& n_failures() {
  static std::atomic<int> count{0};
  return count;
}

// Thrown by SKIP; main reports the test as skipped.
struct Skipped {
  std::string reason;
};

inline void fail(const char* file, int line, const std::string& message) {
  static std::mutex printing;
  const std::lock_guard lock(printing);
  ++n_failures();
  std::fprintf(stderr, "%s:%d: %s\n", file, line, message.c_str());
}

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };

template <typename T>
concept Range = !Printable<T> && requires(const T& value) {
  value.begin();
  value.end();
};

template <typename T>
std::string show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out << '"' << std::string_view(value) << '"';
  } else if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_enum_v<T>) {
    out << +static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_integral_v<T>) {
    out << +value;
  } else if constexpr (std::is_floating_point_v<T>) {
    out.precision(17);
    out << value;
  } else if constexpr (Printable<T>) {
    out << value;
  } else if constexpr (Range<T>) {
    out << '[';
    const char* separator = "";
    for (const auto& item : value) {
      out << separator << show(item);
      separator = ", ";
    }
    out << ']';
  } else {
    out << "(" << sizeof(T) << " bytes)";
  }
  return out.str();
}

template <typename A, typename B>
bool equal(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> &&
                !std::is_same_v<B, bool> && !std::is_same_v<A, char> && !std::is_same_v<B, char>) {
    return std::cmp_equal(a, b);  // tests write signed literals against sizes
  } else {
    return a == b;
  }
}

template <typename A, typename B>
void check_equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (!equal(a, b)) fail(file, line, std::string(text) + "\n  left:  " + show(a) + "\n  right: " + show(b));
}

}  // namespace scrubjay::check

#define TEST(name)                                                                                        \
  static void scrubjay_test_##name();                                                                     \
  static const ::scrubjay::check::Registration scrubjay_registration_##name(#name, scrubjay_test_##name); \
  static void scrubjay_test_##name()

// Variadic, so that a comma inside braces or template arguments needs no extra parentheses.
#define CHECK(...)                                                                              \
  do {                                                                                          \
    if (!(__VA_ARGS__)) ::scrubjay::check::fail(__FILE__, __LINE__, "CHECK(" #__VA_ARGS__ ")"); \
  } while (false)

#define CHECK_EQ(a, ...) \
  ::scrubjay::check::check_equal((a), (__VA_ARGS__), "CHECK_EQ(" #a ", " #__VA_ARGS__ ")", __FILE__, __LINE__)

#define CHECK_THROWS(expression, ...)                                                       \
  do {                                                                                      \
    const char* scrubjay_got = "nothing was thrown";                                        \
    try {                                                                                   \
      static_cast<void>(expression);                                                        \
    } catch (const __VA_ARGS__&) {                                                          \
      scrubjay_got = nullptr;                                                               \
    } catch (...) {                                                                         \
      scrubjay_got = "another exception was thrown";                                        \
    }                                                                                       \
    if (scrubjay_got != nullptr)                                                            \
      ::scrubjay::check::fail(                                                              \
          __FILE__, __LINE__,                                                               \
          std::string("CHECK_THROWS(" #expression ", " #__VA_ARGS__ "): ") + scrubjay_got); \
  } while (false)

// Ends the test with a reason; it is reported as skipped.
#define SKIP(reason) \
  throw ::scrubjay::check::Skipped { reason }
