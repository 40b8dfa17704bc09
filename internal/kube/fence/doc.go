// Package fence keeps a process from writing to an API server after the lease has
// ended under which it writes.
//
// A process that holds a lease can be stopped at any moment: by a signal, a
// debugger, a machine that sleeps. When it goes on, another one may hold the lease.
// So every request that is no read passes a Fence, which holds it back unless the
// lease is known to last. Access puts a Fence under a rest.Config: whatever client is
// made of that, now or later, cannot write around it.
//
// The lease is looked at twice, by a clock that also runs while the process is
// stopped and while the machine sleeps (see SinceBoot):
//
//   - before the request is begun, where one that is early waits;
//   - right before bytes are handed to the operating system, where one that is late
//     fails, together with its connection. Requests that write have connections of
//     their own for that. One request at a time is between this look and the hand-over.
//
// A request under way is given up when the lease ends, and tells the API server to
// give it up after RequestTimeout. Whoever takes the lease over waits as long as the
// lease lasts, and for RequestTimeout.
//
// # What remains
//
// A process can be stopped between the second look and the hand-over: that one request
// goes out when it wakes up. Bytes that were handed over are out of reach. The network
// delivers them while a process is stopped; a machine that is put to sleep in that very
// moment delivers them when it wakes up, if the API server has kept the connection so
// long. A virtual machine that is stopped from outside may not be told how long that
// was: then its clocks stand still, and this one does too.
package fence
