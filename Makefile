# The commands of this project. `make` makes everything, from a bare machine; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -e -o pipefail -c
MAKEFLAGS += --no-print-directory
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# So that a root in a container, and more ranks than cores, need no flags of Open MPI's (4 and 5).
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export PRTE_MCA_rmaps_default_mapping_policy := :oversubscribe

PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export SIZES KINDS RANKS RIVALS

# $(call build,preset[,targets]): configures when it must, then builds; says what is compiled, and failures.
build_dir = $(if $(filter default,$1),build,build/$1)
define build
	@if [ ! -e $(call build_dir,$1)/build.ninja ] || [ .venv/setup.stamp -nt $(call build_dir,$1)/build.ninja ]; then \
	  mkdir -p $(call build_dir,$1); log=$(call build_dir,$1)/configure.log; \
	  cmake --preset $1 >$$log 2>&1 || { cat $$log; exit 1; }; \
	  sed -n '/^-- Weft/,/^-- Configuring/{/Configuring/d;s/^-- //p}; /Warning/,/^$$/p' $$log; \
	fi
	@cmake --build --preset $1 -j $(JOBS) $(if $2,--target $2)
endef
ctest = ctest --preset $1 -j 2 --no-tests=error

.PHONY: all setup demo test test-long test-sanitize test-tsan bench check format install clean help
all: setup  ## set up, configure and build into build/
	$(call build,default)

setup:
	@tools/setup

demo: ## build, then transform real data and show what comes out
	@tools/setup demo
	$(call build,default,weft_command bench/all)
	@tools/demo

test: all ## run the tests, some of them also on a build with FFTW as the only engine
	$(call build,fftw-only,mpi_tests)
	@$(call ctest,default) -LE long
	@tests/hosts/run --check || true  # says why the tests on several hosts were skipped, if they were

test-long: all ## run all tests, the long ones too
	$(call build,fftw-only,mpi_tests)
	@$(call ctest,default)

test-sanitize: setup ## run the tests with the address and undefined-behaviour sanitizers
	$(call build,sanitize)
	@$(call ctest,sanitize) -LE long

test-tsan: setup ## run the tests of the library, which start threads, with the thread sanitizer
	$(call build,tsan)
	@$(call ctest,tsan) -R '^unit_tests$$|^mpi_tests\.np[124]$$'

bench: ## compare with the rivals: make bench SIZES="128 256" KINDS=c2c RANKS="1 2" RIVALS=fftw
	@tools/setup bench
	$(call build,default,weft_command bench/all)
	@bench/run

check: ## format, lint and layers
	@tools/setup check
	@tools/check

format: ## reformat the sources
	@tools/setup check
	@tools/check --fix

install: all ## install below PREFIX (default /usr/local)
	@cmake --install build --prefix $(PREFIX) | sed -n 's/^-- Installing: //p'

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 22
