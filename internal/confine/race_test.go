//go:build race

package confine

func init() { raceDetector = true }
