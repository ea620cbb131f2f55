// Errors: the exceptions of the core.
//
// The core throws these and std::bad_alloc, nothing else. One file in cpp/bindings maps them to Python. Every
// message says what is wrong, what was expected and what was given. Our own bugs are assertions, never these.
#pragma once

#include <stdexcept>
#include <string>

namespace scrubjay::base {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct InvalidArgument : Error {  // ValueError
  using Error::Error;
};
struct WrongType : Error {  // TypeError
  using Error::Error;
};
struct Corrupt : Error {  // scrubjay.CorruptIndexError
  using Error::Error;
};
struct Interrupted : Error {  // thrown to end a long call (interruption.hpp)
  using Error::Error;
};

}  // namespace scrubjay::base
