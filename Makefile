# Thin over CMakePresets.json: `make help` lists what there is. Everything is built under build/<preset>/.
.DEFAULT_GOAL := help
.PHONY: help setup setup-all setup-cuda demo test test-large bench release dev devices format tidy tidy-changed clean

help:  ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

setup:  ## check for the Debian packages that the build needs; install them when run as root
	@scripts/setup.sh build

setup-all:  ## setup, and the packages for fuzzing, format, tidy, Cortex-M and QEMU
	@scripts/setup.sh all

setup-cuda:  ## fetch NVRTC, the compiler of CUDA kernels (90 MB, NVIDIA's licence), into your cache folder
	@scripts/get_nvrtc.sh

demo: release  ## compile, inspect and run the handwritten-digits model
	@scripts/demo.sh

test: dev  ## build everything and run the tests, but for the large ones
	@ctest --preset dev -LE large

test-large: dev  ## the large tests: whole models and all operators as CUDA kernels on the host (minutes)
	@ctest --preset dev -L large

bench: dev  ## measure compile time, memory, load and run time beside ExecuTorch (bench/README.md)
	@python3 bench/run.py --json build/bench.json

release: setup  ## build/release/bin/wick
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release

dev: setup  ## build the tests without running them
	@cmake --preset dev --log-level=WARNING
	@cmake --build --preset dev

devices: setup-all  ## the runners for boards in QEMU (wick run --device ..)
	@scripts/build_devices.sh

format:  ## rewrite the sources in the project's style (clang-format-19)
	@scripts/format.sh --fix

tidy: setup-all  ## clang-tidy-19 over all files (an hour)
	@scripts/tidy.sh --all

tidy-changed: setup-all  ## clang-tidy-19 over the files that differ from the last commit
	@scripts/tidy.sh HEAD

clean:  ## remove build/
	@rm -rf build
