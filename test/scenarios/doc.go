// Package scenarios holds small repositories with one mistake in their order
// each, and the same without it. Its test runs them through the whole chain: read,
// render, infer, lint.
//
// A scenario is a txtar archive. Files below both/ are in both repositories, those
// below bad/ and good/ in one. Its comment says in words what is wrong, and then,
// one a line, every finding of the bad repository ("want") and every finding that
// stays in the good one ("still"):
//
//	want SEVERITY RULE COMPONENT PROVIDER KIND NAME
//
// with "-" for what a finding does not have. There are no others. A mistake that is
// not found has a line "missed" that says why not.
//
// test/evaluate/cases.yaml names the scenario of each mistake of a public repository.
package scenarios
