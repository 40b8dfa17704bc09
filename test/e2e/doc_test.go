// Package e2e runs the built command, as users do, against planes of its own.
//
// The tests link nothing of the control plane. They take the binary from the
// environment variable LADDER_BINARY, or bin/ladder below the repository root;
// `make build` makes it.
package e2e
