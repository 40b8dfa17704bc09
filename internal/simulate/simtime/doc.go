// Package simtime has the clock of a simulation. It goes N times as fast as real
// time, or stands still and is moved from one due moment to the next, so that
// nobody waits for a simulated delay.
package simtime
