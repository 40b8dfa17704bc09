// Package schema holds the JSON Schemas (draft 2020-12) of the files that Ladder
// reads, the descriptor and the ladder file, and of the JSON that it writes:
// findings, plan and report.
//
// The schemas are made from the types of this package, which exist for that
// only; tests hold them against the readers, the examples and the documents.
package schema
