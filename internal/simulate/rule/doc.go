// Package rule is the format of the rules of the simulated world: which
// controller reconciles a kind, what it needs, what it makes and what status it
// gives. docs/simulation-rules.md describes the format for users.
//
// Conditions and values are expressions of the Common Expression Language
// (CEL), alone or as "${...}" inside the strings of a template. CEL always
// ends, has no effects, and its cost is bounded; what a template makes is
// bounded in size as well.
package rule
