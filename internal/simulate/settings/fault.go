package settings

import (
	"fmt"
	"strings"
	"time"
)

// FaultKind is a way in which a component misbehaves.
type FaultKind string

// The kinds of fault.
const (
	NoFault FaultKind = ""
	// NeverReady: containers run but never become ready, Jobs never finish and
	// custom resources never become Ready.
	NeverReady FaultKind = "never-ready"
	// Crash: containers exit with 1, again and again; Jobs fail.
	Crash FaultKind = "crash"
	// Flap: becomes ready, then alternates between ready and not.
	Flap FaultKind = "flap"
	// Slow: becomes ready later by Fault.Extra.
	Slow FaultKind = "slow"
)

// Fault is one fault switch: "never-ready", "crash", "flap" or "slow:5m".
type Fault struct {
	Kind FaultKind
	// Extra is the additional time of Slow.
	Extra time.Duration
}

// ParseFault reads a fault as the command line writes it. The empty string is
// no fault.
func ParseFault(s string) (Fault, error) {
	kind, argument, hasArgument := strings.Cut(strings.TrimSpace(s), ":")
	switch FaultKind(kind) {
	case NoFault, NeverReady, Crash, Flap:
		if hasArgument {
			return Fault{}, fmt.Errorf("fault %q takes no argument", kind)
		}
		return Fault{Kind: FaultKind(kind)}, nil
	case Slow:
		extra, err := time.ParseDuration(argument)
		if err != nil {
			return Fault{}, fmt.Errorf("fault slow needs a duration as in slow:5m: %w", err)
		}
		if extra <= 0 {
			return Fault{}, fmt.Errorf("fault slow needs a duration above zero, not %s", argument)
		}
		return Fault{Kind: Slow, Extra: extra}, nil
	default:
		return Fault{}, fmt.Errorf("unknown fault %q: one of never-ready, crash, flap, slow:DURATION", s)
	}
}

// String prints the fault as ParseFault reads it.
func (f Fault) String() string {
	if f.Kind == Slow {
		return string(Slow) + ":" + f.Extra.String()
	}
	return string(f.Kind)
}

// MarshalText implements encoding.TextMarshaler.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fault) UnmarshalText(text []byte) error {
	parsed, err := ParseFault(string(text))
	if err != nil {
		return err
	}
	*f = parsed
	return nil
}
