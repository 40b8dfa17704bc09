package idle

import "time"

// Order is what the rehearsal asks of the plane. It keeps the world's clock from
// going by itself for a while; the zero value does nothing else.
type Order struct {
	// To is the moment to which the clock is moved; zero leaves it.
	To time.Time `json:"to,omitzero"`
	// Seen is the activity that the rehearsal knows of: if anything has begun since,
	// or goes on, the clock is not moved. Flow moves it in any case.
	Seen int64 `json:"seen,omitempty"`
	Flow bool  `json:"flow,omitempty"`
	// Release lets the clock go by itself again.
	Release bool `json:"release,omitempty"`
}

// Answer is how the plane stands when the order is carried out and what came of it
// has been done.
type Answer struct {
	Now time.Time `json:"now"`
	// Next is when the next thing is due in the simulated world; zero for never.
	Next time.Time `json:"next,omitzero"`
	// Activity changes with everything that begins in the plane. Quiet is false while
	// something goes on.
	Activity int64 `json:"activity"`
	Quiet    bool  `json:"quiet"`
	Moved    bool  `json:"moved"`
	// Pending is set while the timer of a real controller runs, which nobody can see or
	// move; Pace is how many simulated seconds pass in a real one then, 0 for none.
	Pending bool    `json:"pending,omitempty"`
	Pace    float64 `json:"pace,omitempty"`
}
