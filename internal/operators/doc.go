// Package operators holds what is known of operators, one file of data for each: how
// its controller is recognised, what objects of its kinds require and make, and how a
// rehearsal plays it. Inference and the simulated world read the same file.
//
// A file has up to two YAML documents. The first has the facts (File); the second, which
// has an apiVersion, is a document of simulation rules (docs/simulation-rules.md).
// What the chart of an operator brings is in the catalogue, where a program records it.
//
// Source of the facts: the documentation and the API reference of each operator, where
// the file names nothing else.
package operators
