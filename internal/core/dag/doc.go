// Package dag holds the graph algorithms of Ladder: order, cycles, layers,
// longest paths and what hangs on what.
//
// Nodes are the numbers 0 to n-1. Callers number them in the order in which
// ties are to be broken, so every answer is a function of the input alone: the
// same graph gives the same bytes, whatever order its edges came in. An edge
// From -> To reads "From requires To": To comes first.
//
// Everything but Cycles is linear in nodes and edges, up to a
// logarithm for the heap that keeps the order stable.
package dag
