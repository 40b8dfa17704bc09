// Package rule is the format of the rules of the simulated world: which
// controller reconciles a kind, what it needs, what it makes and what status it
// gives. docs/simulation-rules.md describes the format for users.
//
// Conditions and values are expressions of the Common Expression Language
// (CEL), alone or as "${...}" inside the strings of a template. What is evaluated
// at once is a Form. Rules that are part of the program are evaluated in its
// process, those of a repository elsewhere: in confined workers, which bound their
// time and memory.
package rule
