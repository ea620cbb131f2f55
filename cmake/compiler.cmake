# Compiler flags of our code, carried by the target `scrubjay_flags`; third-party code is compiled without the
# warnings.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# There are no C++ modules; scanning for them takes a process per file, and clang-scan-deps, which many clang
# packages lack.
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# No link-time optimisation: it may merge a kernel compiled for AVX-512 into code that runs everywhere.
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

foreach(cache IN ITEMS sccache ccache)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(SCRUBJAY_${cache} ${cache})
    if(SCRUBJAY_${cache})
      set(CMAKE_C_COMPILER_LAUNCHER "${SCRUBJAY_${cache}}")
      set(CMAKE_CXX_COMPILER_LAUNCHER "${SCRUBJAY_${cache}}")
    endif()
  endif()
endforeach()

find_package(Threads REQUIRED)

add_library(scrubjay_flags INTERFACE)
target_link_libraries(scrubjay_flags INTERFACE Threads::Threads)
target_compile_definitions(scrubjay_flags INTERFACE
  SCRUBJAY_VERSION="${SCRUBJAY_VERSION}"
  SCRUBJAY_BUILD_TYPE="$<CONFIG>")
if(MSVC)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "Visual Studio's own compiler lacks the vector types that the kernels are written in: use its "
                        "clang-cl (cmake -T ClangCL; pip install . --config-settings cmake.args=-TClangCL)")
  endif()
  # No implicit fused multiply-add, so that every CPU gives the same bits: clang-cl's /fp:precise still
  # contracts a * b + c if a level has the instruction.
  target_compile_options(scrubjay_flags INTERFACE
    /W4 /permissive- /utf-8 /fp:precise /clang:-ffp-contract=off $<$<BOOL:${SCRUBJAY_WERROR}>:/WX>)
else()
  # -ffp-contract=off: no implicit fused multiply-add, so that every CPU gives the same bits.
  # -Wno-psabi: gcc's note on how vector types are passed; ours never cross a library border.
  target_compile_options(scrubjay_flags INTERFACE
    -Wall -Wextra -Wno-psabi -ffp-contract=off -ffunction-sections -fdata-sections
    $<$<BOOL:${SCRUBJAY_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # gcc 12 has false warnings about overlaps and bounds in its own std::string (its bugs 105329 and 105651).
    target_compile_options(scrubjay_flags INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  endif()
  if(APPLE)
    target_link_options(scrubjay_flags INTERFACE -Wl,-dead_strip)
  else()
    target_link_options(scrubjay_flags INTERFACE -Wl,--gc-sections)
  endif()
endif()

if(WIN32)
  target_compile_definitions(scrubjay_flags INTERFACE NOMINMAX WIN32_LEAN_AND_MEAN)
endif()

if(SCRUBJAY_SANITIZE)
  # -g1: the functions and lines of a stack trace; the rest of -g takes a fifth of the compile time.
  add_compile_options(-fsanitize=${SCRUBJAY_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${SCRUBJAY_SANITIZE})
  if(SCRUBJAY_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

if(SCRUBJAY_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

# scrubjay_precompile(TARGET HEADER...): precompiles the standard headers that most files include, and the
# given ones, for the target. Disabled in `pip install`, in the presets dev and fuzz, where a file with
# missing includes should fail, and under a compiler cache, which would miss.
function(scrubjay_precompile target)
  if(SCRUBJAY_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex> <optional>
      <random> <span> <string> <string_view> <thread> <vector> ${ARGN})
  endif()
endfunction()

# scrubjay_unite(TARGET SOURCE...): compiles the files of a folder as one, since reading headers is most of a
# compiler's work. The unnamed namespaces of a folder therefore share their names. Files with flags of their
# own stay separate.
function(scrubjay_unite target)
  foreach(source IN LISTS ARGN)
    get_source_file_property(own_options "${source}" COMPILE_OPTIONS)
    if(NOT own_options)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(GET folder FILENAME folder)
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc lets a file grow by 40% through inlining, and by 10% through copies for constants: with all files in
    # one, the first functions would use that up, and searches would take some percent more instructions.
    target_compile_options(${target} PRIVATE --param=inline-unit-growth=400 --param=ipa-cp-unit-growth=100)
  endif()
endfunction()
