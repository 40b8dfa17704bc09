// Package pending finds the timers of real controllers that run at the moment, from
// the objects that they are about: controllers keep the real time, and nobody can
// see their timers or move them. While one runs no idle time is skipped.
package pending
