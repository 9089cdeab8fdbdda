# Qualifies Priority Flow Control on SONiC switches. `make help` lists the targets.
PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
TESTBED ?= vtb-t0
PORT    ?=
FAULT   ?=
DEPLOY  ?=
FORCE   ?=
TESTBED_FILE ?=
SCENARIO ?=
SET     ?=
IP      ?= 4
CHANGE_CONFIG ?=
SAME_GENERATOR ?=
SOAK    ?=
QUICK   ?=
SONIC_MGMT ?=
SERIES  ?=
CONCURRENCY ?=
RESUME  ?=
SCHEDULER ?=
PORTS   ?=
PORTS_ONLY ?=
JOB     ?=
RUN     ?=
V       ?=
SWSS    ?=
UTILITIES ?=
BUILDIMAGE ?=
HISTORIES ?= 10000
CASES   ?= 2000
SEED    ?= 0
HABITS  ?=
SOURCES ?=
COUNT   ?=
SLICE   ?=
ONLY    ?=
MUTANT  ?=
TESTS   ?=
FAULTS  ?=
JOIN    ?=
INTO    ?=
SAMPLE  := 100
IXNETWORK ?=
OVER_SSH ?=
PYTHON_3_12 ?=
VENV_IXNETWORK := .venv-ixnetwork

# The variables that each target reads. Any other one on the command line is a slip, and would do nothing.
TAKES_qualify := TESTBED TESTBED_FILE PORT FAULT SCENARIO SET IP DEPLOY CHANGE_CONFIG SAME_GENERATOR SOAK QUICK V
TAKES_sweep := TESTBED TESTBED_FILE PORTS PORTS_ONLY FAULT IP CONCURRENCY BOTH SCHEDULER JOB RESUME DEPLOY CHANGE_CONFIG SAME_GENERATOR
TAKES_restore := TESTBED TESTBED_FILE FORCE
TAKES_report := RUN
TAKES_overlay := SONIC_MGMT SERIES
TAKES_series-check := SONIC_MGMT SERIES
TAKES_differential := CASES SEED COMPILED
TAKES_generator-check := TESTBED TESTBED_FILE
TAKES_ixnetwork-check := HABITS SCENARIO TESTBED
TAKES_campaign := SOURCES COUNT SEED SLICE ONLY MUTANT RESUME SCHEDULER
TAKES_upstream := SONIC_MGMT TESTS OPTIONS FAULT TESTBED TESTBED_FILE IXNETWORK HABITS OVER_SSH PYTHON_3_12
TAKES_upstream-score := SONIC_MGMT TESTS FAULTS RESUME JOIN INTO PYTHON_3_12
TAKES_real-sonic := SWSS UTILITIES BUILDIMAGE SONIC_MGMT HISTORIES SEED
GOALS := $(or $(MAKECMDGOALS),help)
TAKEN := $(foreach goal,$(GOALS),$(TAKES_$(goal)))
ifneq ($(RESUME),)  # what is gone on with has the variables that it began with
TAKEN := $(filter RESUME SCHEDULER SLICE,$(TAKEN))
endif
GIVEN := $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(TAKEN) PYTHON VENV MAKEFLAGS MAKEOVERRIDES,$(GIVEN))
ifneq ($(UNKNOWN),)
$(error `make $(GOALS)` $(if $(RESUME),with RESUME )has no variable $(UNKNOWN); it takes $(or $(sort $(TAKEN) PYTHON)))
endif

# Ansible, pip and pytest keep what they write inside the clone (or a temporary folder), never in the user's home.
export ANSIBLE_HOME := $(CURDIR)/.ansible
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start thousands of processes: Python keeps its bytecode, also where the environment of a container forbids that.
unexport PYTHONDONTWRITEBYTECODE

COMPILE := $(BIN)/python -c 'from virtual_testbed.dataplane.compiled import compile_all; compile_all()'
PYTEST := XDG_CACHE_HOME='$(CURDIR)/$(VENV)/cache' XDG_CONFIG_HOME='$(CURDIR)/$(VENV)/config' \
    $(BIN)/python -m pytest -q --instafail -n 3 --dist loadscope --no-loadscope-reorder -rsfE

.DEFAULT_GOAL := help
.PHONY: help pfctest qualify sweep report down restore overlay series-check upstream upstream-score test test-ci test-long test-all differential real-sonic generator-check ixnetwork-check campaign lint flake8 mypy ansible-lint bench compiled closure reports-wheel docs docs-images clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20
	@echo '  for instance: make qualify TESTBED=vtb-t0 PORT=Ethernet8 FAULT=pause-ignored@Ethernet8 SCENARIO=PFC-2,global-pause SET=3,4 IP=6 V=1'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "error: $$($(PYTHON) --version 2>&1) found, Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "creating the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "error: $(PYTHON) cannot make a virtual environment" \
	    "(on Debian the package python3-venv brings that)"; exit 1; }

$(VENV)/.installed: $(BIN)/python setup.cfg constraints.txt
	@echo "installing the packages that a qualification needs: about a minute, 240 MB in $(VENV)"
	@$(BIN)/pip install -q -c constraints.txt -e '.[virtual,postgresql]'
	@touch $@

$(VENV)/.test-installed: $(VENV)/.installed
	@echo "installing the packages that the tests need: about two minutes, 525 MB more in $(VENV)"
	@$(BIN)/pip install -q -c constraints.txt -e '.[test,bench]'
	@$(BIN)/pip check
	@$(COMPILE)
	@touch $@

$(VENV)/.bench-installed: $(VENV)/.installed
	@echo "installing the packages that the benchmarks need"
	@$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	@touch $@

$(VENV)/.docs-installed: $(VENV)/.installed
	@echo "installing the packages that the pictures need"
	@$(BIN)/pip install -q -c constraints.txt -e '.[docs]'
	@touch $@

# snappi_ixnetwork brings pytest plugins and linters along, so it has an environment of its own.
$(VENV_IXNETWORK)/.installed: setup.cfg constraints.txt
	@echo "installing snappi_ixnetwork and what the virtual testbed needs: about two minutes, 820 MB in $(VENV_IXNETWORK)"
	@$(PYTHON) -m venv $(VENV_IXNETWORK)
	@$(VENV_IXNETWORK)/bin/pip install -q -c constraints.txt -e '.[virtual,compiled,ixnetwork]'
	@$(VENV_IXNETWORK)/bin/python -c 'from virtual_testbed.dataplane.compiled import compile_all; compile_all()'
	@touch $@

qualify: $(VENV)/.installed  ## qualify a switch: TESTBED=, PORT=, SCENARIO=, SET=, IP=6, FAULT=, SOAK=10m (a storm of that time), QUICK=1 (three minutes), V=1 (all that pytest prints); on hardware also DEPLOY=1, CHANGE_CONFIG=1, SAME_GENERATOR=1
	@$(BIN)/python scripts/qualify.py --testbed '$(TESTBED)' $(if $(PORT),--port '$(PORT)') \
	    $(if $(TESTBED_FILE),--testbed-file '$(TESTBED_FILE)') $(if $(FAULT),--fault '$(FAULT)') $(if $(DEPLOY),--deploy) \
	    $(if $(SCENARIO),--scenario '$(SCENARIO)') $(if $(SET),--set '$(SET)') --ip-version '$(IP)' \
	    $(if $(CHANGE_CONFIG),--change-config) $(if $(SAME_GENERATOR),--same-generator) $(if $(SOAK),--soak '$(SOAK)') $(if $(QUICK),--quick) $(if $(V),--verbose)

sweep: $(VENV)/.installed  ## sweep every port: TESTBED=a,b, CONCURRENCY=max, BOTH=1 (in a wave and alone), PORTS=, FAULT=, JOB=, DEPLOY=1, CHANGE_CONFIG=1, SCHEDULER=tcp://HOST:8786 (on several machines); RESUME=JOB goes on
	@$(BIN)/python scripts/sweep.py $(if $(SCHEDULER),--scheduler '$(SCHEDULER)') $(if $(RESUME),--resume '$(RESUME)',\
	    --testbed '$(TESTBED)' --ip-version '$(IP)' $(if $(TESTBED_FILE),--testbed-file '$(TESTBED_FILE)') \
	    $(if $(CONCURRENCY),--concurrency '$(CONCURRENCY)') $(if $(BOTH),--both) $(if $(PORTS),--ports '$(PORTS)') \
	    $(if $(PORTS_ONLY),--ports-only) $(if $(FAULT),--fault '$(FAULT)') $(if $(JOB),--job '$(JOB)') \
	    $(if $(DEPLOY),--deploy) $(if $(CHANGE_CONFIG),--change-config) $(if $(SAME_GENERATOR),--same-generator))

report: $(VENV)/.installed  ## write the page of the latest run, or of RUN= (a run or a job), and say where it is
	@$(BIN)/pfc-report html $(if $(RUN),'$(RUN)')

down: $(VENV)/.installed  ## take every virtual testbed of the clone down
	@$(BIN)/virtual-testbed down

restore: $(VENV)/.installed  ## stop the traffic of a testbed and put its switches back after a run that died: TESTBED=, FORCE=1
	@$(BIN)/python scripts/restore.py '$(TESTBED)' $(if $(TESTBED_FILE),--testbed-file '$(TESTBED_FILE)') \
	    $(if $(FORCE),--force)

generator-check: $(VENV)/.installed  ## ask the traffic generator of a testbed what no data sheet says, in minutes: TESTBED=
	@$(BIN)/python scripts/generator_check.py '$(TESTBED)' $(if $(TESTBED_FILE),--testbed-file '$(TESTBED_FILE)')

overlay:  ## copy what travels into a sonic-mgmt checkout: SONIC_MGMT=<checkout>; SERIES=core-1 (one change of the series), SERIES=core (all of that name)
	@$(if $(SONIC_MGMT),,echo "error: no checkout given: make overlay SONIC_MGMT=<a checkout of sonic-mgmt>"; exit 2;) \
	    $(PYTHON) -m scripts.overlay '$(SONIC_MGMT)' $(if $(SERIES),--series '$(SERIES)')

series-check: $(VENV)/.test-installed  ## run sonic-mgmt's checks and the unit tests on each change of the series: SONIC_MGMT=<checkout>; SERIES=core-1, SERIES=core
	@$(if $(SONIC_MGMT),,echo "error: no checkout given: make series-check SONIC_MGMT=<a checkout of sonic-mgmt>"; exit 2;) \
	    $(BIN)/python -m scripts.series.check '$(SONIC_MGMT)' $(if $(SERIES),--series '$(SERIES)')

upstream: $(VENV)/.test-installed  ## run sonic-mgmt's own PFC tests on a virtual testbed: SONIC_MGMT=<checkout>, TESTS=names, OPTIONS=<more of pytest>, FAULT=, TESTBED=, IXNETWORK=1 (through IxNetwork's API, not OTG), HABITS=, OVER_SSH=1 (those that need no generator), PYTHON_3_12=<a program, where it is not found>
	@$(BIN)/python -m scripts.upstream '$(SONIC_MGMT)' $(if $(TESTS),--tests '$(TESTS)') $(if $(OPTIONS),--options='$(OPTIONS)') $(if $(FAULT),--fault '$(FAULT)') \
	    $(if $(IXNETWORK),--ixnetwork) $(if $(HABITS),--habit '$(HABITS)') $(if $(OVER_SSH),--over-ssh) $(if $(PYTHON_3_12),--python '$(PYTHON_3_12)') --testbed '$(TESTBED)' $(if $(TESTBED_FILE),--testbed-file '$(TESTBED_FILE)')

upstream-score: $(VENV)/.test-installed  ## count which broken switches sonic-mgmt's own tests see: SONIC_MGMT=<checkout>, FAULTS=names, TESTS=names, PYTHON_3_12=; RESUME=NAME goes on; JOIN='PLACE PLACE' makes one matrix of several, INTO=STEM says where
	@$(BIN)/python -m scripts.upstream.score $(if $(RESUME),--resume '$(RESUME)','$(SONIC_MGMT)') $(if $(TESTS),--tests '$(TESTS)') $(if $(FAULTS),--faults '$(FAULTS)') $(if $(PYTHON_3_12),--python '$(PYTHON_3_12)') $(if $(JOIN),--join $(JOIN)) $(if $(INTO),--into '$(INTO)')

test: lint  ## lint, type check and the project's tests but for slow ones: some 7 minutes on 2 cores once all is installed
	$(PYTEST) -m 'not slow'

test-ci: lint $(VENV_IXNETWORK)/.installed  ## the same with the slow tests that are not marked `long`, and 100 cases of the differential
	$(PYTEST) -m 'not long'
	@$(BIN)/python scripts/differential.py --cases $(SAMPLE) --compiled

test-long: $(VENV)/.test-installed $(VENV_IXNETWORK)/.installed  ## what test-ci leaves out: the tests marked `long`, and 100 cases of the differential without compiled code
	$(PYTEST) -m long
	@$(BIN)/python scripts/differential.py --cases $(SAMPLE)

test-all: lint $(VENV_IXNETWORK)/.installed  ## all tests, and 100 cases of the differential with and without compiled code
	$(PYTEST)
	@$(BIN)/python scripts/differential.py --cases $(SAMPLE)
	@$(BIN)/python scripts/differential.py --cases $(SAMPLE) --compiled

differential: $(VENV)/.test-installed  ## compare the data plane with its oracle in random testbeds: CASES=, SEED=, COMPILED=1
	@$(BIN)/python scripts/differential.py --cases '$(CASES)' --seed '$(SEED)' $(if $(COMPILED),--compiled)

campaign: $(VENV)/.test-installed  ## count how many broken switches the suite sees: SOURCES=, COUNT=, SEED=, SLICE=60m, ONLY=, MUTANT=, SCHEDULER=tcp://...; RESUME=NAME goes on
	@$(BIN)/python -m scripts.campaign $(if $(RESUME),--resume '$(RESUME)',$(if $(SOURCES),--sources '$(SOURCES)') \
	    $(if $(COUNT),--count '$(COUNT)') $(if $(findstring command,$(origin SEED)),--seed '$(SEED)') $(if $(ONLY),--only '$(ONLY)') \
	    $(if $(MUTANT),--mutant '$(MUTANT)')) $(if $(SLICE),--slice '$(SLICE)') $(if $(SCHEDULER),--scheduler '$(SCHEDULER)')

real-sonic: $(VENV)/.test-installed  ## compare the virtual switch with SONiC's own code: SWSS=, UTILITIES=, BUILDIMAGE=, SONIC_MGMT= (checkouts; what needs one that is not given is left out), HISTORIES=, SEED=
	@$(BIN)/python scripts/real_sonic.py $(if $(SWSS),--swss '$(SWSS)') $(if $(UTILITIES),--utilities '$(UTILITIES)') \
	    $(if $(BUILDIMAGE),--buildimage '$(BUILDIMAGE)') $(if $(SONIC_MGMT),--sonic-mgmt '$(SONIC_MGMT)') --histories '$(HISTORIES)' --seed '$(SEED)'

ixnetwork-check: $(VENV_IXNETWORK)/.installed  ## qualify through snappi_ixnetwork and IxNetwork's REST API, with what chassis do: HABITS=, SCENARIO= (`all`: the whole plan, hours), TESTBED=
	@$(VENV_IXNETWORK)/bin/python scripts/ixnetwork_check.py $(if $(HABITS),--habits '$(HABITS)') --testbed '$(TESTBED)' $(if $(SCENARIO),--scenario '$(SCENARIO)')

lint: $(VENV)/.test-installed  ## flake8, mypy and ansible-lint, side by side
	@$(MAKE) --no-print-directory -j 3 -O flake8 mypy ansible-lint

flake8:
	$(BIN)/flake8

mypy:
	$(BIN)/mypy

ansible-lint:
	cd ansible && PATH="$(CURDIR)/$(BIN):$$PATH" ANSIBLE_LINT_NODEPS=1 ../$(BIN)/ansible-lint --offline -q

bench: $(VENV)/.bench-installed  ## print the benchmarks and write them to results/bench.json
	@$(BIN)/python scripts/bench.py

compiled: $(VENV)/.installed  ## install numba (280 MB): the virtual testbed computes congested traffic some 60 times as fast
	@echo "installing numba: 280 MB more in $(VENV); then half a minute of compiling"
	@$(BIN)/pip install -q -c constraints.txt -e '.[compiled]'
	@$(COMPILE)

closure:  ## print what PFC-1 to PFC-4 draw in when they are imported, by room, and what each option adds
	@$(PYTHON) scripts/closure.py

pfctest:  ## build the pause frame generator as one file for a switch: build/pfctest.pyz
	@$(PYTHON) scripts/build_pfctest.py

reports-wheel:  ## build a wheel of databases and pages, for where there is no checkout: dist/sonic_mgmt_pfc_reports-*.whl
	@$(PYTHON) scripts/build_reports.py

docs: $(VENV)/.docs-installed  ## make a site of the documentation: build/docs/index.html
	@$(BIN)/python -W ignore scripts/build_docs.py

docs-images: $(VENV)/.docs-installed  ## draw the pictures of the documentation anew
	@$(BIN)/python scripts/plot_chain.py

clean:  ## stop virtual testbeds, remove what was built and the virtual testbeds' state; results stay
	@if [ -x $(BIN)/virtual-testbed ]; then $(BIN)/virtual-testbed down; fi
	rm -rf $(VENV) $(VENV_IXNETWORK) .venv-qualify .venv-upstream .venv-upstream.packages .venv-series .venv-series.packages .virtual_testbed .ansible build dist *.egg-info .mypy_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
