# The C++ tests: one program of every cpp/tests/*.cpp. `scrubjay_tests NAME` runs the tests whose names contain NAME.
enable_testing()
file(GLOB test_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cpp/tests/*.cpp")
add_executable(scrubjay_tests ${test_sources})
target_include_directories(scrubjay_tests PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/cpp/tests")
target_link_libraries(scrubjay_tests PRIVATE scrubjay_core)
scrubjay_precompile(scrubjay_tests "${CMAKE_CURRENT_SOURCE_DIR}/cpp/tests/check.hpp")
add_test(NAME native COMMAND scrubjay_tests)
