// Package idle skips the time of a rehearsal in which nothing happens. The clock of
// the simulated world and that of the rollout stand still while anything has
// something to do, and are moved together to the next moment at which something is
// due, so that a rollout of forty minutes is rehearsed in seconds.
//
// The rehearsal decides (Skipper) and asks the plane (Server) over the connection of
// the API server, at a path that only administrators may use.
// designs/0014-simulated-time.md says what quiet means and why.
package idle
