#include "filter/value.hpp"

#include <charconv>

#include "base/decimal.hpp"
#include "base/errors.hpp"

namespace scrubjay::filter {
namespace {

constexpr size_t kQuotedBytes = 80;

}  // namespace

Value::Kind Literal::kind() const {
  switch (value_.index()) {
    case 0:
      return Kind::null;
    case 1:
      return Kind::boolean;
    case 2:
      return Kind::integer;
    case 3:
      return Kind::real;
    case 4:
      return Kind::time;
    case 5:
      return Kind::text;
    case 7:
      return Kind::object;
    default:
      return Kind::other;
  }
}

std::optional<double> Literal::real() const {
  const auto* integer = std::get_if<int64_t>(&value_);
  return integer ? static_cast<double>(*integer) : std::get<double>(value_);
}

bool Literal::each_item(const ItemVisitor& visit) const {
  const auto* items = std::get_if<Object>(&value_);
  if (!items) return false;
  for (const auto& [key, value] : *items) visit(key, value);
  return true;
}

bool Literal::each_element(const ElementVisitor& visit) const {
  const auto* elements = std::get_if<List>(&value_);
  if (!elements) return false;
  for (size_t i = 0; i < elements->size(); ++i) visit(i, (*elements)[i]);
  return true;
}

int64_t Literal::as_time(const std::string& where) const {
  throw base::InvalidArgument(
      where + ": expected an ISO 8601 time or seconds since 1970 in the years 1 to 9999, got " + type_name() +
      " " + quoted());
}

std::string Literal::type_name() const {
  constexpr const char* names[] = {"null", "bool", "int", "float", "time", "str", "list", "object"};
  return names[value_.index()];
}

std::string Literal::quoted() const {
  std::string out;
  write(out);
  if (out.size() > kQuotedBytes) out = out.substr(0, kQuotedBytes - 3) + "...";
  return out;
}

// Writes JSON, except for times, up to a length that no message shows.
void Literal::write(std::string& out) const {
  const auto write_number = [&out](int64_t number) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    out.append(digits, static_cast<size_t>(end - digits));
  };
  if (out.size() > kQuotedBytes) return;
  if (const auto* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* integer = std::get_if<int64_t>(&value_)) {
    write_number(*integer);
  } else if (const auto* real = std::get_if<double>(&value_)) {
    out += base::real_text(*real);
  } else if (const auto* time = std::get_if<Time>(&value_)) {
    write_number(time->microseconds);
    out += " us";
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    out += '"';
    for (const char byte : std::string_view(*text).substr(0, kQuotedBytes))
      out += byte >= ' ' && byte != '"' && byte != '\x7f' ? byte : '?';
    out += '"';
  } else if (const auto* elements = std::get_if<List>(&value_)) {
    out += '[';
    for (size_t i = 0; i < elements->size() && out.size() <= kQuotedBytes; ++i) {
      if (i != 0) out += ", ";
      (*elements)[i].write(out);
    }
    out += ']';
  } else if (const auto* items = std::get_if<Object>(&value_)) {
    out += '{';
    for (size_t i = 0; i < items->size() && out.size() <= kQuotedBytes; ++i) {
      if (i != 0) out += ", ";
      (*items)[i].first.write(out);
      out += ": ";
      (*items)[i].second.write(out);
    }
    out += '}';
  } else {
    out += "null";
  }
}

}  // namespace scrubjay::filter
