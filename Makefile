# `make demo` deploys the reference stack on a local emulator and shows what happens; `make test` runs every check.
# Each sets up what it needs on the first call and installs nothing on the next.

PYTHON ?= python3
READY := .venv/ready
OLDEST := .floor/ready

# The virtual environment comes first, so that `python`, `node` and `cdk` mean the locked ones in every recipe.
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/node_modules/.bin:$(PATH)
# Some systems set it; without compiled files every test process would compile the library and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo emulator smoke docs pictures who-else dist changelog test unit matrix floor newest lint bench fuzz catalogue lock clean
help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

setup: $(READY) $(OLDEST) ## install everything that is locked, once

demo: $(READY) ## deploy, update and destroy the reference stack on the local emulator
	@python -m tests.e2e.demo

emulator: $(READY) ## a shell in which cdk and boto talk to a local emulator, for an app of your own
	@python -m ecs_emulator

smoke: $(READY) ## try a small app in your AWS account: says what it costs and asks, records into RECORD, destroys; YES=1 asks nothing
	@python -m tools.smoke $(if $(RECORD),--record $(RECORD)) $(if $(YES),--yes)

# The shipped data are judged by the day of the commit: a copy of it that is tested years later passes as it did.
test: export DAY_OF_COMMIT := $(shell git log -1 --format=%cs 2>/dev/null)
test: lint $(OLDEST) ## lint, type-check and run the whole test suite, then a part of it with the oldest aws-cdk-lib
	@pytest
	@PYTHONPATH=$(CURDIR)/.floor pytest -n0 $(ON_OLDEST) $(WHERE_CDK_IS_MET_MOST)

# Only the whole suite looks at its end for what tests left open: that takes each worker three seconds.
# tests/e2e runs the emulator, cdk, our commands and linters as users run them; the others go through every combination.
unit: $(READY) ## the tests, except those that run commands, cdk, linters or the emulator, the matrix and the benchmarks
	@pytest --ignore tests/e2e --ignore tests/matrix --ignore tests/bench -p no:unraisableexception

matrix: $(READY) ## build, lint, deploy and destroy every legal combination of options, and count what is refused
	@MATRIX=all pytest tests/matrix tests/e2e/matrix tests/e2e/test_updates.py tests/e2e/test_launcher.py

# The packages of a folder on PYTHONPATH come before those of .venv. acknowledge_aws_solutions needs a newer aws-cdk-lib.
ON_OLDEST := -k "not (a_block_runs and security) and not on_a_new_cdk"
OF_CONSTRUCTS := $(addprefix tests/,cdk cluster services tasks matrix/test_reaching.py) $(wildcard tests/test_*.py)
# Every example of the documentation, and the quickest tests that run most of the lines which call CDK: half a minute.
WHERE_CDK_IS_MET_MOST := $(addprefix tests/,test_readme.py cdk/test_validation.py test_cluster_in_cdk.py \
    test_existing_clusters.py \
    cluster/capacity/test_host_replacement.py cluster/capacity/test_imported_capacity.py cluster/capacity/test_purchase.py \
    cluster/managed/test_managed_gpu_capacity.py tasks/models/test_model_cache.py \
    services/test_cpu_service.py services/test_refused_endpoints.py tasks/test_task_definition.py)

floor: $(OLDEST) ## run all tests of the constructs with the oldest aws-cdk-lib that is allowed
	@PYTHONPATH=$(CURDIR)/.floor pytest $(ON_OLDEST) $(OF_CONSTRUCTS)

newest: $(READY) ## run them with the newest aws-cdk-lib that the package index has, which may be newer than the locked one
	@rm -rf .newest
	@$(BESIDE) --target .newest "aws-cdk-lib<3"
	@PYTHONPATH=$(CURDIR)/.newest pytest $(OF_CONSTRUCTS) \
	    $(addprefix tests/e2e/test_,cdks_own_validation.py aws_solutions.py)

lint: $(READY)
	@ruff check .
	@ruff format --check .
	@lint-imports
	@mypy

docs: $(READY) ## build the site: .site/html/index.html opens in a browser
	@python -m tools.build_site

pictures: $(READY) ## draw the pictures of docs/ anew, and the prices of the gallery, from what there is
	@python -m tools.stories
	@python -m tools.pictures

who-else: $(READY) ## look again at what cfn-lint and cdk-preflight find of the examples of rules, for the pages of rules
	@python -m tools.who_else

dist: $(READY) ## build the wheels of all three distributions and the sdist, in dist/
	@rm -rf dist
	@python -m hatchling build --directory dist
	@cd with_cdk && python -m hatchling build --target wheel --directory ../dist
	@cd ecs_emulator && python -m hatchling build --target wheel --directory ../dist

changelog: ## put the lines of changes/ into the newest part of CHANGELOG.md
	@$(PYTHON) -m tools.release

bench: $(READY) ## measure synth against plain aws-cdk-lib, the proof against an exact solver, and the command line
	@python -m bench.synth
	@python -m bench.synth --only kinds --untimed
	@python -m bench.proof
	@python -m bench.cli
	@python -m bench.large
	@python -m bench.check_at_synth

# Tests of what is generated: each run tries a few examples, and `make fuzz` 60 times as many.
GENERATED = $(shell grep -rlE "^@given|import times$$" --include="test_*.py" tests)

fuzz: $(READY) ## hold the proof against an exhaustive search, and throw texts and values at every reader
	@python -m bench.oracle --examples 30000 --worlds 10000
	@python -m bench.fuzz --runs 5000
	@TIMES=60 pytest $(GENERATED)

catalogue: $(READY) ## make the data of instance types and prices anew, and say what changed and what nobody has curated
	@python -m tools.catalogue

LOCK = uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet

lock: ## write the lock files anew from pyproject.toml and package.json; needs uv and asks the registries
	$(LOCK) pyproject.toml --extra dev --output-file requirements/dev.txt
	$(LOCK) pyproject.toml --extra cdk --resolution lowest-direct --output-file requirements/oldest.txt
	$(LOCK) requirements/node.in --output-file requirements/node.txt
	npm install --package-lock-only --omit-lockfile-registry-resolved

clean: ## remove everything that was installed or made
	rm -rf .venv .floor .newest .site dist node_modules cdk.out .mypy_cache .ruff_cache .pytest_cache

$(READY): requirements/dev.txt requirements/node.txt package-lock.json pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh
	@touch $@

# Into a folder of their own. Without compiled files, which take most of the time: the tests compile what they import.
BESIDE = python -m pip --disable-pip-version-check --quiet install --no-compile --no-warn-conflicts

$(OLDEST): requirements/oldest.txt $(READY)
	@rm -rf .floor
	@$(BESIDE) --require-hashes --target .floor -r requirements/oldest.txt
	@touch $@
