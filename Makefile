# Every target sets up what it needs; nothing is done twice.
# One more than our smallest machine has cores: a third of the tests' time is waiting.
WORKERS ?= 3
BIN := .venv/bin
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-more nightly check crash fuzz bench test-agents test-agents-short test-model docs lock

help: ## What can be made
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

setup: ## Install everything for work on trued itself
	@tools/setup.sh test

demo: ## See the whole product in a minute or two: no key, no agent, no network
	@tools/setup.sh demo
	@$(BIN)/trued demo

test: ## All tests, with a sample of the crash sweep
	@tools/setup.sh test
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-more: ## What takes longer: the whole corpus, real runners, built environments
	@tools/setup.sh test
	@$(BIN)/pytest -n $(WORKERS) -m slow $(ARGS)

nightly: ## 100,000 fuzzed inputs for each reader, and what else takes hours
	@tools/setup.sh test
	@$(BIN)/pytest -n $(WORKERS) -m nightly --timeout 0 $(ARGS)

check: ## Format, lint, types, import rules
	@tools/setup.sh check
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo

crash: ## Every kill point and hundreds of random kills; takes long
	@tools/setup.sh test
	@$(BIN)/pytest tests/crash -m "" --all-kills --timeout 0 -s $(ARGS)

fuzz: ## 100,000 inputs for every parser of what comes from outside; takes minutes
	@tools/setup.sh test
	@$(BIN)/python -m tests.fuzz $(ARGS)

bench: ## Durable steps beside LangGraph and DBOS; overhead of agent calls; start-up; long plans
	@tools/setup.sh bench
	@$(BIN)/python -m bench $(ARGS)

test-agents: ## Real agent programs against a scripted model on this machine: no key, no model
	@tools/setup.sh test
	@tools/agents.sh
	@$(BIN)/pytest tests/real_agents -m agents $(ARGS)

test-agents-short: ## Eight promises, kept by the real Claude Code and Codex
	@tools/setup.sh test
	@tools/agents.sh claude codex
	@$(BIN)/pytest tests/real_agents/conformance/test_core.py -m agents -k "claude or codex" $(ARGS)

test-model: ## A real, very small language model on this machine plays every role
	@tools/setup.sh test
	@tools/model.sh
	@$(BIN)/pytest tests/small_model -m model $(ARGS)

docs: ## The guide, into site/
	@tools/setup.sh docs
	@.venv-docs/bin/mkdocs build --strict --quiet
	@echo "site/index.html"

lock: ## Resolve the dependencies anew, with hashes
	@tools/lock.sh
