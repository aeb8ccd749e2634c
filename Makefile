# make demo : the whole thing on this machine    make test : what CI checks    make help : the rest
SHELL := /bin/bash
# Each process would compile all sources again.
unexport PYTHONDONTWRITEBYTECODE
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo demo-bullseye lab-down test vm test-full lint unit unit-slow accept test-platform-slow test-platform test-core test-lab test-bullseye demo-storage test-storage lab-ha test-ha lab-five test-five test-faults test-day2 test-first-site molecule bench bench-256 generated reference docs dist clean bench-controller bench-scheduler bench-growth

help: ## Show the targets.
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml ava/pyproject.toml scripts/setup
	@scripts/setup $(VENV)
	@touch $@

# Takes a second; writes what is missing or stale alone.
generated: $(STAMP)
	@$(BIN)/python scripts/generate

setup: generated ## Make the virtual environment (.venv) with everything pinned, and the files that are generated.

demo: generated ## Bring up the lab, install the whole stack over ssh, measure it, write the report.
	@scripts/demo

# Debian 11 is a lab of its own, beside the usual one.
demo-bullseye test-bullseye: export AVADM_LAB_DIR = $(CURDIR)/.lab-bullseye

demo-bullseye: MASTERS ?= 0
demo-bullseye: generated ## The same on Debian 11: ceph 14.2, modules under python 2.7 (MASTERS=1: with Kubernetes).
	@scripts/demo --release bullseye --masters $(MASTERS)

vm: generated ## Try what needs a kernel in virtual machines: LVM, krbd, cephfs, ip_vs; STAGE=site: debian-12 from bootstrap on (as root; no KVM).
	@$(BIN)/python scripts/vm-check $(STAGE)

demo-storage: generated ## The same without Kubernetes: six nodes, nothing to build.
	@scripts/demo --masters 0

lab-down: generated ## Remove the lab and all that it made; caches stay.
	@$(BIN)/avadm lab down --engine

test: generated ## What CI runs: unit tests, the platform's parts, then a lab with everything and one pass over each component; lint beside them.
	@scripts/test

test-full: generated ## All there is, for hours and unattended; a stage that passed for this tree is not repeated (takes the lab down).
	@scripts/test-full $(STAGES)

lint: generated ## ruff, mypy, yamllint, ansible-lint, shellcheck, import-linter, words, commit subjects, changelog fragments.
	@scripts/lint

# One process more than cores: many tests wait.
unit: WORKERS ?= 3
unit: generated ## Unit tests: minutes.
	@scripts/tools
	@$(BIN)/pytest tests/unit -m "not slow" -n $(WORKERS) --dist loadfile

unit-slow: generated ## Unit tests of many random or exhaustive cases.
	@$(BIN)/pytest tests/unit -m slow

test-platform: generated ## The platform's parts against a real PostgreSQL and a real API server.
	@scripts/test-platform

test-platform-slow: generated ## Planted faults on the platform's parts.
	@scripts/test-platform slow

test-core: generated ## Bring up the lab, install, look whether a second run changes nothing, one pass over each component.
	@scripts/test-lab core

test-lab: generated ## The same with all tests that plant no slow faults, and everything installed again (changes nothing).
	@scripts/test-lab

accept: generated ## Measure what runs on the lab.
	@$(BIN)/avadm accept run --effort quick

test-bullseye: generated ## The same as test-lab on Debian 11: ceph 14.2, modules under python 2.7.
	@scripts/test-lab "lab and not slow" --release bullseye --masters 0

test-storage: generated ## The same as test-lab without Kubernetes.
	@scripts/test-lab "lab and not slow" --masters 0

# Three masters are a lab of its own too: two workers and no ceph, so that it fits beside the usual one.
lab-ha test-ha: export AVADM_LAB_DIR = $(CURDIR)/.lab-ha
lab-ha test-ha: export AVADM_SITE = $(CURDIR)/.lab-ha/site.yml

lab-ha: generated ## A lab with three masters: etcd, API behind a virtual address, elected controllers.
	@scripts/lab-install --masters 3 --storage 0 --compute 2

test-ha: lab-ha ## Plant faults on that lab: lost masters, members, address, daemons, nodes (slow).
	@$(BIN)/pytest tests/lab/kubernetes -m "lab and slow" --junitxml="runs/$$(date -u +%Y%m%dT%H%M%SZ)-tests.xml"

# Five masters, so that two can leave.
lab-five test-five: export AVADM_LAB_DIR = $(CURDIR)/.lab-five
lab-five test-five: export AVADM_SITE = $(CURDIR)/.lab-five/site.yml

lab-five: generated ## A lab with five masters and PostgreSQL.
	@scripts/lab-install --masters 5 --storage 0 --compute 3 --with database

test-five: lab-five ## Upgrade etcd on that lab, then remove roles from nodes: services, PostgreSQL, masters (slow).
	@$(BIN)/pytest tests/lab/day2/test_upgrade.py tests/lab/day2/test_role_removal.py -m lab -k "role_removal or etcd_is_killed" --junitxml="runs/$$(date -u +%Y%m%dT%H%M%SZ)-tests.xml"
	@$(BIN)/avadm lab down

# One lab with Kubernetes at a time: two cores.
test-faults: generated ## Plant faults on the lab, remove it, then the same on three masters (slow).
	@scripts/test-lab "lab and slow and not day2"
	@$(BIN)/avadm lab down
	@$(MAKE) --no-print-directory test-ha

test-day2: generated ## Day-two verbs on the lab, under load, interrupted and repeated; upgrades come last, so the lab is removed afterwards (hours).
	@scripts/test-lab day2
	@$(BIN)/avadm lab down
	@$(MAKE) --no-print-directory test-five

test-first-site: generated ## Go the way of docs/tutorial/site.md on the lab's machines: from `avadm site init` to a first run; removes the lab.
	@$(BIN)/avadm lab down
	@rm -rf .first-site
	@$(BIN)/python scripts/first-site
	@$(BIN)/avadm lab down

molecule: generated ## Each role up to docker alone on a small lab, then etcd, masters and gateways on several nodes: converge twice, verify; the awkward cases.
	@scripts/molecule $(SCENARIO)

bench: generated ## Measure installation, second run and the controller's work, against the floor (a lab of its own; 10 minutes).
	@$(BIN)/python scripts/sshd
	@$(BIN)/python bench/run.py

bench-controller: generated ## What a whole apply costs the controller at 8 and 64 hosts, over hollow nodes (root; HOSTS="8 64 256").
	@$(BIN)/python scripts/sshd
	@$(BIN)/python bench/controller.py $(HOSTS)

bench-scheduler: generated ## AVA's scheduler beside kube-scheduler 1.9.11 on one real API server, 256 hollow nodes (5 minutes).
	@$(BIN)/python -m bench.ava_scheduler

bench-growth: generated ## AVA's API and ledger with 1,000 users and 100,000 finished runs beside a tenth of that (10 minutes).
	@$(BIN)/python -m bench.ava_growth

bench-256: generated ## Preflight of 256 simulated hosts, with real sshd and probes.
	@$(BIN)/python scripts/sshd
	@scripts/bench-preflight 256

reference: generated ## Generate docs/reference/generated: verbs, keys and schemas of files, role variables, ports, alerts, checks, holes.
	@$(BIN)/python scripts/generate docs

docs: reference ## Build the documentation as a site in build/site.
	@$(BIN)/mkdocs build --quiet

dist: reference ## Build the wheels of avadm, its lab and acceptance, of AVA and of its client into dist/.
	@for project in . ava distributions/*; do \
		(cd $$project && $(CURDIR)/$(BIN)/python -P -m hatchling build -t wheel -d $(CURDIR)/dist); done

clean: ## Remove the virtual environment and build leftovers (not the lab, not the caches).
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .ansible installer/*.egg-info
