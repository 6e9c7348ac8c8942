# make run: set up and start.  make test: set up and test, on real kernels too where QEMU is.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What running needs, and what work on it needs on top of that.
STAMP := $(VENV)/.ready
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Where this is set, each start of the application would compile it anew: a second.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -n auto --no-loadscope-reorder

.PHONY: drill fuzz monkey soak run test test-matrix check format bench all-args screenshots docs lab recording kernels syscalls lock clean

run: $(STAMP)
	$(BIN)/probewright $(ARGS)

test: $(TOOLS)
	$(PYTEST) -m "not matrix" $(ARGS)

# What make test runs on the newest kernel only, on the others.
test-matrix: $(TOOLS)
	$(PYTEST) -m matrix $(ARGS)

check: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) -m "not real" -q $(ARGS)

format: $(TOOLS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(TOOLS)
	$(BIN)/python -m tests.bench $(ARGS)

# The memory of the commands at 20,000 events/s: ten minutes each, two at a time; ARGS: seconds, events/s.
soak: $(TOOLS)
	$(BIN)/python -m tests.soak $(ARGS)

# Fifty kills at random moments of a session: PROBEWRIGHT_DRILL_SEED=N for others than the usual.
drill: $(TOOLS)
	PROBEWRIGHT_DRILL=50 $(BIN)/python -m pytest -q tests/real/test_fault_drill.py $(ARGS)

# $$args on every function of booted kernels: ARGS="7.2 6.1", else all five.
all-args: $(TOOLS)
	$(BIN)/python -m tests.real.all_arguments $(ARGS)

# 20,000 damaged inputs through the public functions and the commands, then make monkey: ARGS="--seed N", "--kind NAME", "--replay FILE".
fuzz: $(TOOLS)
	$(BIN)/python -m tests.fuzz $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m tests.monkey)

# Keys, words, pastes, clicks and sizes by chance in every state, what was tried least first, 20,000 of them (in make fuzz too): ARGS="--replay LOG" for one again.
monkey: $(TOOLS)
	$(BIN)/python -m tests.monkey $(ARGS)

screenshots: $(TOOLS)
	$(BIN)/python -m screenshots --lab $(ARGS)

# The pages of docs/ that are made from the tables of the application: keys, errors, commands, the manual page.
docs: $(STAMP)
	$(BIN)/python -m tui.docs

lab: $(STAMP)
	$(BIN)/probewright lab $(ARGS)

# The recording that comes with the application: a real kernel of the lab with its workload.
recording: $(STAMP)
	rm -f tui/default.pwr
	$(BIN)/probewright record --target lab:7.2 --for 8 -o tui/default.pwr \
	    'f vfs_read%return file->f_pos count $$retval' \
	    'f do_sys_openat2%both dfd filename:ustring how->flags $$retval' \
	    'f vfs_write%both pos[0] count $$retval' \
	    'f bprm_execve bprm->filename:string'

# What the kernels of the matrix can do, for the lines that are shown of them: boots each.
kernels: $(STAMP)
	$(BIN)/python -m tests.data.make_kernels

# The numbers of system calls by architecture, from the headers of Debian's newest kernel.
syscalls: $(STAMP)
	$(BIN)/python -m tests.data.make_syscalls

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11

lock: $(STAMP)
	$(PIP) uv
	$(COMPILE) --extra code --extra dev --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra code --constraint requirements.lock --no-annotate --output-file requirements-run.lock pyproject.toml

$(STAMP): pyproject.toml requirements-run.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements-run.lock
	$(PIP) --no-deps --config-settings editable_mode=compat -e .
	$(BIN)/python -m compileall -q btf events foreign kernel probes tui widgets
	touch $@

$(TOOLS): $(STAMP) requirements.lock
	$(PIP) --require-hashes -r requirements.lock
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
