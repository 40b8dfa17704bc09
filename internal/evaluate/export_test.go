package evaluate

import "time"

func init() { setTime = 500 * time.Millisecond }

// Endless is how many questions are known to take all of their time.
func Endless() int {
	endless.mu.Lock()
	defer endless.mu.Unlock()
	return len(endless.seen)
}
