# `make` installs and runs the whole chain; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
# The commands below come from the environment made here.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

comma := ,
SCENARIO = $(shell $(VENV)/bin/clearsched params scenario)
RESULTS = results/$(SCENARIO)
PIP_INSTALL = pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
# Two test processes at once; the tests of one file stay together, since they share what they computed. Files come in
# the order of tests/conftest.py: by their number of tests those that run whole workflows, a few tests each, came last.
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

# Snakemake frees the folder when it ends, however it ends, but not when it is killed outright.
LOCKED = if ls .snakemake/locks/* >/dev/null 2>&1; then \
	echo "make: the folder is locked: another run is using it, or one was killed (kill -9, power cut);" \
		"if no other is at work: .venv/bin/snakemake --unlock, then make again: it goes on where it was" >&2; fi

.DEFAULT_GOAL := run
.DELETE_ON_ERROR:
.PHONY: run paper report docs test lint format typecheck audit params sync bench clean clean-all constraints help install install-dev

run: install  ## install, run everything, print the comparison table (default)
	@snakemake --cores all || { code=$$?; $(LOCKED); exit $$code; }
	@$(MAKE) --no-print-directory report
	@echo
	@clearsched evaluation show $(RESULTS)/evaluation
	@echo
	@echo "comparison  $(RESULTS)/evaluation/comparison.txt"
	@for rules in $(RESULTS)/students/*.txt; do echo "rules       $$rules"; done
	@echo "figures     $(RESULTS)/figures/"
	@echo "report      results/report.html"
	@echo "page        results/report/index.html"

paper: install  ## the papers' figures and claims at the published settings, a night; goes on where it was; PROFILES=... for a folder
	@clearsched paper left --every 10 & telling=$$!; \
	snakemake --cores all paper --config paper='{scale: paper$(if $(PROFILES),$(comma) profiles: $(PROFILES))}'; code=$$?; \
	kill $$telling 2>/dev/null; wait $$telling 2>/dev/null; \
	if [ $$code -ne 0 ]; then $(LOCKED); exit $$code; fi
	@cat results/paper/claims.md

.PHONY: paper-left
paper-left: install  ## how far `make paper` has come, and how long what is left will take
	@clearsched paper left

report: install  ## write results/report.html from the results there are
	@snakemake --report results/report.html --quiet all

docs: $(VENV)/.installed-docs  ## build the documentation site for a browser without a network: results/site/index.html
	@NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet
	@echo "site        results/site/index.html"

test: install-dev  ## run all tests
	@pytest $(PYTEST_ARGS)

lint: install-dev  ## check the code's style: ruff, snakefmt
	@ruff check .
	@ruff format --check .
	@snakefmt --check Snakefile workflow

format: install-dev  ## put the code into that style
	@ruff check --fix .
	@ruff format .
	@snakefmt Snakefile workflow

typecheck: install-dev  ## check types: mypy
	@mypy

audit: install  ## known vulnerabilities of what is pinned (ADVISORIES=folder or zip of OSV files), licences of it all
	@python tools/audit.py $(if $(ADVISORIES),--advisories $(ADVISORIES))

params: install  ## write params.yaml, its schema, docs/params.md and dvc.yaml from the models and registries
	@clearsched params default --out params.yaml
	@clearsched params schema --out docs/params.schema.json
	@clearsched params docs --out docs/params.md
	@clearsched params dvc --out dvc.yaml

sync: install  ## after `dvc checkout` or `dvc pull`: tell Snakemake that these results belong to these params
	@dvc status --quiet || { echo "make sync: the results do not belong to these params: see 'dvc status', run 'dvc repro'" >&2; exit 2; }
	@snakemake params --cores all --quiet all
	@snakemake --touch --cores all --quiet all
	@echo "in step"

bench: install  ## time the simulator: a table, and scaling curves in results/benchmarks; PROFILES=... for other jobs
	@python benchmarks/table.py $(if $(PROFILES),--profiles $(PROFILES))
	@python benchmarks/scaling.py $(if $(PROFILES),--profiles $(PROFILES))

.PHONY: spark-jar
spark-jar: install  ## build engines/spark/build/clearsched-spark.jar against the pyspark there is (JDK 17, extra `spark`)
	@$(PIP_INSTALL) '.[spark]'
	@engines/spark/build.sh

.PHONY: slurm
slurm: install  ## the tiny workflow on a Slurm of this machine (root, Debian's packages: engines/slurm/cluster.sh)
	@$(PIP_INSTALL) '.[slurm]'
	@engines/slurm/cluster.sh up
	@snakemake --workflow-profile workflow/profiles/slurm --configfile tests/config/tiny.yaml; code=$$?; \
		engines/slurm/cluster.sh down; exit $$code

.PHONY: install-engines test-engines
install-engines: install-dev
	@engines/slurm/cluster.sh install
	@$(PIP_INSTALL) '.[dask,slurm]'

test-engines: $(VENV)/.installed-dev  ## tests on a real Slurm of this machine (root, Debian's packages): make install-engines first
	@pytest -m engine $$(grep -l mark.engine tests/*.py)

.PHONY: fuzz kill
FUZZ_SECONDS ?= 600
KILLS ?= 20

fuzz: install-dev  ## damaged files for every reader, FUZZ_SECONDS=600 each; READERS="trace students" for some
	@python -m tests.faults.fuzz --seconds $(FUZZ_SECONDS) $(foreach name,$(READERS),--reader $(name))

kill: install-dev  ## kill each command KILLS=20 times, run it again, compare the bytes: docs/reliability-kills.md (hours)
	@python tests/faults/kill.py --kills $(KILLS) --out docs/reliability-kills.md

clean:  ## delete all results
	rm -rf results .snakemake

clean-all: clean  ## delete the environment and all caches too
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache .mypy_cache .dvc/tmp
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

constraints:  ## pin every package anew, in a fresh environment: constraints.txt
	$(PYTHON) -m venv --clear $(VENV)-pins
	$(VENV)-pins/bin/pip install --quiet --disable-pip-version-check --editable '.[contract,dask,dev,docs,onnx,slurm,spark]'
	@head -n 2 constraints.txt > constraints.txt.new
	@# A local version such as +cpu names the build that this machine got; the pin holds for any.
	$(VENV)-pins/bin/pip freeze --exclude-editable | sed 's/+[a-z0-9.]*$$//' >> constraints.txt.new
	mv constraints.txt.new constraints.txt
	rm -rf $(VENV)-pins

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s @ 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1   \2/p' $(MAKEFILE_LIST)

install: $(VENV)/.installed

# What the tests need is installed while the simulator is compiled, which takes one core.
install-dev:
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.installed $(VENV)/.installed-dev

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "make: Python 3.11 or newer is needed; '$(PYTHON)' says: $$($(PYTHON) --version 2>&1 | head -n 1)." \
			"Name another one: make PYTHON=python3.12" >&2; exit 2; }
	@echo "environment in $(VENV)/"
	@$(PYTHON) -m venv $(VENV) || { \
		echo "make: 'python -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
		rm -rf $(VENV); exit 2; }

# The stamps are younger than what they were made from, so that an installation happens once and after each change.
$(VENV)/.installed-packages: pyproject.toml constraints.txt | $(VENV)/bin/pip
	@echo "installing clearsched and what it needs (pinned in constraints.txt; some minutes)"
	@$(PIP_INSTALL) .
	@touch $@

$(VENV)/.installed: $(VENV)/.installed-packages
	@echo "compiling the simulator for this machine (two minutes)"
	@clearsched prepare
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-packages
	@echo "installing what the tests need"
	@$(PIP_INSTALL) '.[dev]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "installing what the documentation site needs"
	@$(PIP_INSTALL) '.[docs]'
	@touch $@
