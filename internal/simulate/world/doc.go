// Package world is the shared view that the parts of the simulated world have
// of the plane: caches of what it serves, who waits for what, which component
// an object belongs to, and queues of work.
package world
