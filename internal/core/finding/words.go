package finding

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Count prints a number with its noun: "1 object", "3 objects".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ss"):
		return fmt.Sprintf("%d %ses", n, noun)
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey") && !strings.HasSuffix(noun, "ay"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}

// Clock prints a duration as people read it: "2.1s", "1m02s", "1h05m".
func Clock(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Limit prints the duration of a limit as Clock does, without tenths where it has none.
func Limit(d time.Duration) string {
	if d > 0 && d < time.Minute {
		return d.String()
	}
	return Clock(d)
}

// Duration prints a duration as people write it: "5s", "3m", "1h30m".
func Duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// The words by which a reason says that it lacks the network, wherever it comes from.
const (
	Offline        = "not rendered offline"
	OfflineForbids = "--offline forbids the network"
	Unreached      = "cannot be reached"
	NoHostReached  = "no other host could be reached"
)

// LacksNetwork reports whether a reason says that the network is missing.
func LacksNetwork(reason string) bool {
	return slices.ContainsFunc([]string{Offline, OfflineForbids, Unreached, NoHostReached}, func(words string) bool {
		return strings.Contains(reason, words)
	})
}
