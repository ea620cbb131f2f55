// Language: compiles {"category": {"$in": [...]}} to a predicate.
//
//     filter     {field: condition, "$and": [filter...], "$or": [filter...], "$not": filter}   all must hold
//     condition  value  |  {operator: operand, ...}                                            all must hold
//     operator   $eq $ne $gt $gte $lt $lte (value), $in $nin (list of values), $exists (bool),
//                $contains (text), $not ({operator: operand, ...})
//
// $in also admits a list that contains one of its texts. The fields created_at and expires_at are compared
// with times: a time, an ISO 8601 text, or seconds since 1970.
#pragma once

#include <memory>

#include "filter/predicate.hpp"
#include "filter/value.hpp"

namespace scrubjay::filter {

// Throws base::WrongType and base::InvalidArgument: the message names the field, the expected and the given
// value (with the field's bytes unchanged). Nesting of more than 60 levels is an error as well.
[[nodiscard]] std::shared_ptr<const Predicate> compile(const Value& filter);

}  // namespace scrubjay::filter
