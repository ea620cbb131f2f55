# The core: every .cpp under cpp/src, globbed at each build, so a new file needs no line here.
# With SCRUBJAY_CORE_BUILD it has been compiled before, from these sources and with these flags: .ci/run runs
# the C++ tests with the core that `pip install .` built, and saves compiling it again.
if(SCRUBJAY_CORE_BUILD)
  add_library(scrubjay_core INTERFACE)
  target_include_directories(scrubjay_core INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src")
  target_link_libraries(scrubjay_core INTERFACE
    "${SCRUBJAY_CORE_BUILD}/libscrubjay_core.a" "${SCRUBJAY_CORE_BUILD}/libscrubjay_croaring.a" scrubjay_flags)
  return()
endif()

file(GLOB core_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src/*/*.cpp")
file(GLOB filter_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src/filter/*.cpp")

# cpp/src/simd/level_<isa>.cpp compile the one source of kernels for one instruction set each. Only they get
# ISA flags; everything else is baseline, which cmake/check_isa_leaks.py verifies on the objects.
set(isa_levels "")
set(isa_definitions "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|i[3-6]86|x86)$" AND NOT CMAKE_OSX_ARCHITECTURES MATCHES "arm64")
  set(isa_levels avx2 avx512)
endif()
# clang-cl accepts these, too; its /arch:AVX512 would leave out VNNI.
set(isa_flags_avx2 -mavx2 -mbmi -mbmi2 -mpopcnt -mlzcnt -mf16c -mfma)
set(isa_flags_avx512 ${isa_flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mavx512vnni)
foreach(level IN ITEMS avx2 avx512)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src/simd/level_${level}.cpp")
  if(level IN_LIST isa_levels)
    if(source IN_LIST core_sources)
      # Headers precompiled without the flags do not fit.
      set_source_files_properties("${source}" PROPERTIES
        COMPILE_OPTIONS "${isa_flags_${level}}" SKIP_PRECOMPILE_HEADERS ON)
      string(TOUPPER "SCRUBJAY_HAVE_${level}" definition)
      list(APPEND isa_definitions "${definition}=1")
    endif()
  else()
    list(REMOVE_ITEM core_sources "${source}")
  endif()
endforeach()

if(NOT core_sources)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp" "")
  set(core_sources "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")
endif()
# The stemmers of Snowball, translated from Python to C++.
set(snowball_sources "${CMAKE_BINARY_DIR}/snowball")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/snowball.py)
execute_process(
  COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/cmake/snowball.py" --from "${SNOWBALL_SOURCE_DIR}" --to "${snowball_sources}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "Snowball's stemmers: ${output}")
endif()
file(GLOB snowball_sources "${snowball_sources}/*.cpp")
# Optimised for size: they run once for each new word. Headers precompiled without the flag do not fit.
if(NOT MSVC)
  set_source_files_properties(${snowball_sources} PROPERTIES COMPILE_OPTIONS "-Os;-w" SKIP_PRECOMPILE_HEADERS ON)
endif()

# The known words of spelling, packed from a list into a table.
set(known_words "${CMAKE_BINARY_DIR}/known_words/known_words_table.cpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/known_words.py cpp/src/text/known_words.txt)
execute_process(
  COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/cmake/known_words.py" --to "${known_words}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "known words: ${output}")
endif()

add_library(scrubjay_core STATIC ${core_sources} ${snowball_sources} "${known_words}")
target_include_directories(scrubjay_core PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/cpp/src")
target_link_libraries(scrubjay_core PUBLIC scrubjay_flags PRIVATE scrubjay_stringzilla)
target_compile_definitions(scrubjay_core PRIVATE ${isa_definitions})
if(SCRUBJAY_UNITY)
  scrubjay_unite(scrubjay_core ${core_sources} ${snowball_sources} "${known_words}")
endif()
scrubjay_precompile(scrubjay_core)

if(filter_sources)
  add_library(scrubjay_croaring STATIC "${CROARING_SOURCE_DIR}/roaring.c")
  target_include_directories(scrubjay_croaring SYSTEM PUBLIC "${CROARING_SOURCE_DIR}")
  # Its AVX2 paths are chosen at run time; the AVX-512 ones cost build time and are not faster on our small
  # bitmaps.
  target_compile_definitions(scrubjay_croaring PUBLIC CROARING_COMPILER_SUPPORTS_AVX512=0)
  if(NOT MSVC)
    target_compile_options(scrubjay_croaring PRIVATE -w -ffunction-sections -fdata-sections)
  endif()
  target_link_libraries(scrubjay_core PRIVATE scrubjay_croaring)
endif()
