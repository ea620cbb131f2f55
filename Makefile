# The command list: `make` prints it. Everything here can be typed by hand as well; run it inside a virtual environment.
.PHONY: help dev test quick smoke lint format stubs native asan asan-python tsan fuzz long soak isa tidy sdist ci clean

PYTHON ?= python
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp')
SECONDS_A_FUZZER ?= 60

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

dev: ## editable install with all tools; rebuilds on import
	$(PYTHON) -m pip install "scikit-build-core>=0.11" "pybind11==3.1.0" cmake ninja
	$(PYTHON) -m pip install --no-build-isolation --config-settings=cmake.define.SCRUBJAY_UNITY=OFF -e ".[dev]"

test: ## Python tests, the slow ones too: what CI runs
	$(PYTHON) -m pytest --slow

quick: ## Python tests without the slow ones
	$(PYTHON) -m pytest

smoke: ## a cross-section of unit, property and reference tests in about eight seconds (tests/smoke.py)
	$(PYTHON) -m tests.smoke

lint: ## ruff, mypy and clang-format, without changing anything
	ruff check .
	ruff format --check .
	mypy
	clang-format --dry-run -Werror $(CPP)

format: ## apply ruff and clang-format
	ruff check --fix .
	ruff format .
	clang-format -i $(CPP)

stubs: ## write python/scrubjay/_native.pyi from the installed module
	$(PYTHON) cmake/generate_stubs.py

native: ## C++ tests, optimised
	cmake --preset release && cmake --build --preset release && build/release/scrubjay_tests

asan: ## C++ tests under the address and undefined-behaviour sanitizers
	cmake --preset asan && cmake --build --preset asan && build/asan/scrubjay_tests

asan-python: ## Python suites of engine and store with the module under the address and undefined-behaviour sanitizers
	PYTHON=$(PYTHON) tests/long/python_under_asan

tsan: ## C++ tests under the thread sanitizer
	cmake --preset tsan && cmake --build --preset tsan && setarch -R build/tsan/scrubjay_tests

soak: ## five minutes of mixed writes and searches under each of asan and tsan
	SCRUBJAY_SOAK_SECONDS=300 $(MAKE) asan tsan

fuzz: ## each fuzzer for SECONDS_A_FUZZER of CPU, by clang's libFuzzer; corpora and findings in build/fuzz-state
	CC=clang CXX=clang++ cmake --preset fuzz && cmake --build --preset fuzz
	$(PYTHON) -m tests.long.fuzz --build build/fuzz --state build/fuzz-state --slice $(SECONDS_A_FUZZER) \
	  --minutes $$(($(SECONDS_A_FUZZER) / 60))

long: ## a night of kills, faults, damaged files, long suites, fuzzers, soak and sanitizers; the report in build/long
	tests/long/run --state build/long --python $(PYTHON)

isa: native ## no code compiled for AVX leaks into code that runs everywhere
	$(PYTHON) cmake/check_isa_leaks.py build/release

tidy: ## clang-tidy with the chosen set
	cmake --preset dev && clang-tidy -p build/dev --quiet $(filter-out cpp/bindings/% cpp/fuzz/%,$(filter %.cpp,$(CPP)))

sdist: ## our source distribution, with the third-party sources inside
	$(PYTHON) -m pip install build && $(PYTHON) -m build --sdist

ci: ## what decides whether a change lands
	bash .ci/run

clean: ## remove builds
	rm -rf build dist third_party
