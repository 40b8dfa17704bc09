#!/usr/bin/env bash
# Fuzzes every target for a while: test/fuzz.sh 60s
set -euo pipefail
cd "$(dirname "$0")/.."
for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
	for target in $(grep -o '^func Fuzz[A-Za-z0-9_]*' "$file" | cut -d' ' -f2); do
		echo "== $target in $(dirname "$file")"
		go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}"
	done
done
