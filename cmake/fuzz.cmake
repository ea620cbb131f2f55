# The fuzzers: each cpp/fuzz/[fuzz_]NAME.cpp defines LLVMFuzzerTestOneInput and becomes fuzz_NAME. With clang
# it is driven by libFuzzer, otherwise by cpp/fuzz/standalone_main.cpp, which mutates deterministically and
# takes the same few options. NAME.dict beside it is optional, cpp/fuzz/corpus/NAME has its initial inputs,
# and cpp/fuzz/fuzzers.txt the maximum input length of each.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-fsanitize=fuzzer")
check_cxx_source_compiles(
  "#include <cstddef>
   #include <cstdint>
   extern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }"
  SCRUBJAY_LIBFUZZER)
unset(CMAKE_REQUIRED_FLAGS)

set(fuzz_driver "${CMAKE_CURRENT_SOURCE_DIR}/cpp/fuzz/standalone_main.cpp")
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cpp/fuzz/*.cpp")
list(REMOVE_ITEM fuzz_sources "${fuzz_driver}")
if(NOT SCRUBJAY_LIBFUZZER)
  add_library(scrubjay_fuzz_driver OBJECT "${fuzz_driver}")
  target_link_libraries(scrubjay_fuzz_driver PRIVATE scrubjay_core)
endif()
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  string(REGEX REPLACE "^fuzz_" "" name "${name}")
  add_executable(fuzz_${name} "${source}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Under the sanitizers gcc falsely reports members of its own std::regex as uninitialised (its bug
    # 105562).
    target_compile_options(fuzz_${name} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(SCRUBJAY_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_link_libraries(fuzz_${name} PRIVATE scrubjay_fuzz_driver)
  endif()
  target_link_libraries(fuzz_${name} PRIVATE scrubjay_core)
endforeach()
if(SCRUBJAY_LIBFUZZER)
  target_compile_options(scrubjay_core PRIVATE -fsanitize=fuzzer-no-link)
endif()
