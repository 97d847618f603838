# Every target is one or two plain commands, so that nobody needs make.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help check test race lint fuzz bench e2e e2e-clients gen cover

TOOL := go tool -modfile=tools/go.mod
COUNT := go run ./internal/gen/counttests

# Tests run in their own folders, so a folder of recordings is made absolute.
ifdef REPRISE_DATA
export REPRISE_DATA := $(abspath $(REPRISE_DATA))
endif

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\): .*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 13

check: race lint fuzz ## all that a change must pass beside test: race, lint, generated files, modules, arm64, every flipped bit, short fuzz
	REPRISE_EXHAUSTIVE=1 go test -timeout 30m -run 'FlippedBit|EveryFlip' ./kernel/bundle ./internal/archive ./internal/jobs
	go run ./internal/gen/gendiff && go mod tidy -diff && go mod verify
	go run ./internal/gen/nofuse

test: ## go test ./..., with a last line that counts the tests
	go test -json -timeout 20m ./... | $(COUNT)

race: ## the tests under the race detector, in random order
	go test -json -race -shuffle=on -timeout 30m ./... | $(COUNT)

lint: ## go vet, golangci-lint and formatting
	go vet ./...
	$(TOOL) golangci-lint run ./...

fuzz: ## every fuzz target for 5 s, at most 5 minutes together
	go run ./internal/gen/fuzzall -each 5s -total 5m

bench: ## the table of docs/performance.md: each figure beside its bar and the peer measured in the same run
	go -C bench run .

e2e: ## real SDKs and agents against the built binary
	go -C e2e test -json -timeout 40m ./... | $(COUNT)

e2e-clients: ## the agents that are installed (claude, codex, gemini, goose, opencode), recorded and replayed
	go -C e2e test -json -tags clients -timeout 30m -run 'Agent' . | $(COUNT)

gen: ## make the generated files
	go generate ./...

cover: ## statement coverage of all packages by all tests, into cover.out
	go test -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -1
