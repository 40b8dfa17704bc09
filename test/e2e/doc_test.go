// Package e2e runs the built command, as users do, against planes of its own.
//
// The tests link nothing of the control plane; package planetest builds the
// binary, or takes the one that LADDER_BINARY names.
package e2e
