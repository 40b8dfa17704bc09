// Package cluster tests ladder rollout, status, watch and the steering commands
// from end to end: a plane stands in for a cluster, every command is a process.
package cluster
