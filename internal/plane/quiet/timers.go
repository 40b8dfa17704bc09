package quiet

import "time"

// JobBackOff is how long the Job controller of a plane waits before it replaces the
// first pod of a Job that failed, MaxJobBackOff the most: they are a fiftieth of those
// in a cluster, since nobody can move its timers. JobPace gives that time back to the
// simulated world. Source: Kubernetes, "Jobs", pod backoff failure policy: 10 s,
// doubled up to 10 min.
const (
	JobPace       = 50
	JobBackOff    = 10 * time.Second / JobPace
	MaxJobBackOff = 10 * time.Minute / JobPace
)

// AutoscalerPeriod is how often the autoscaler of a plane looks at an object, and how
// long it lets a new one wait; AutoscalerPace gives the rest of the time in a cluster
// back. Source: kube-controller-manager, --horizontal-pod-autoscaler-sync-period, 15 s.
const (
	AutoscalerPeriod = 3 * time.Second
	AutoscalerPace   = 5
)
