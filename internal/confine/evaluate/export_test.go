package evaluate

import "time"

func init() {
	setTime, fileTime, smallTime = 500*time.Millisecond, time.Second, 250*time.Millisecond
}

// ForgetEndless forgets which questions have taken all of their time.
func ForgetEndless() {
	endless.mu.Lock()
	defer endless.mu.Unlock()
	clear(endless.seen)
}

// Endless is how often questions have taken all of their time.
func Endless() int {
	endless.mu.Lock()
	defer endless.mu.Unlock()
	times := 0
	for _, n := range endless.seen {
		times += n
	}
	return times
}
