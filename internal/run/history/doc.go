// Package history keeps the reports of rollouts and rehearsals that are over, and
// says how two of them differ and how long components take.
//
// An entry is the JSON report of package report. Entries are in a folder, one
// file each, and in the cluster that was rolled out to, one ConfigMap each
// (ladder-history-* in ladder-system, gzip). One report is one entry wherever it
// is read from: its identifier is made from what it says.
//
// Reports hold names, states, times and messages, never the content of objects;
// what is kept is without credentials in addresses.
package history
