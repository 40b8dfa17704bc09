package smoke

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Client reads the cluster. Errors that mean "not there" are *NotFoundError.
type Client interface {
	// Get returns an object; group and kind are enough, the version served is
	// the client's business. Namespace is empty for cluster-wide kinds.
	Get(ctx context.Context, gk schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error)
	// List returns the objects of a kind in a namespace, all where it is empty.
	List(ctx context.Context, gk schema.GroupKind, namespace string) ([]*unstructured.Unstructured, error)
}

// NotFoundError means that an object, or its kind, is not there.
type NotFoundError struct{ What string }

// Error implements error.
func (e *NotFoundError) Error() string { return e.What + " does not exist" }

// UnreachableError means that the API server did not answer.
type UnreachableError struct {
	// What was asked for.
	What string
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return "the cluster does not answer: " + e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Dialer opens connections to addresses as a workload of the cluster would see
// them, for example by forwarding a port.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Options changes how checks run.
type Options struct {
	// Simulated is set on a plane, where no process answers: http and tcp hold
	// when the Service that the host names has ready endpoints.
	Simulated bool
	// Now is the clock of certificate validity; nil means the system's.
	Now func() time.Time
	// Dial opens connections for http and tcp; nil dials directly, which is
	// right inside the cluster.
	Dial Dialer
	// Timeout bounds a check that has none of its own; 0 means 10 seconds.
	Timeout time.Duration
}

// Result is the answer of one check.
type Result struct {
	Check model.Check
	OK    bool
	// Message says what was found, for a failed check what is missing.
	Message string
	// Err is why a check does not hold, nil where it does. An *UnreachableError
	// in it means that the check could not be asked.
	Err error
}

const defaultTimeout = 10 * time.Second

// Run runs the checks one after the other and answers in their order.
func Run(ctx context.Context, client Client, checks []model.Check, options Options) []Result {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	results := make([]Result, 0, len(checks))
	for _, check := range checks {
		message, err := run(ctx, client, check, options)
		if err != nil {
			results = append(results, Result{Check: check, Message: err.Error(), Err: err})
			continue
		}
		results = append(results, Result{Check: check, OK: true, Message: message})
	}
	return results
}

// run answers one check; an error is why it does not hold.
func run(ctx context.Context, client Client, check model.Check, options Options) (string, error) {
	timeout := check.Timeout
	if timeout <= 0 {
		timeout = options.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	message, err := dispatch(ctx, client, check, options)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("no answer within %s", timeout)
	}
	return message, err
}

func dispatch(ctx context.Context, client Client, check model.Check, options Options) (string, error) {
	switch check.Kind {
	case model.CheckCondition:
		return checkCondition(ctx, client, check)
	case model.CheckSecret:
		return checkSecret(ctx, client, check)
	case model.CheckCertificate:
		return checkCertificate(ctx, client, check, options.Now())
	case model.CheckJob:
		return checkJob(ctx, client, check)
	case model.CheckEndpoint:
		return checkEndpoint(ctx, client, check.Namespace, check.Name)
	case model.CheckHTTP:
		return checkHTTP(ctx, client, check, options)
	case model.CheckTCP:
		return checkTCP(ctx, client, check, options)
	case model.CheckCEL:
		return checkCEL(ctx, client, check)
	default:
		return "", fmt.Errorf("no smoke check of kind %q is known", check.Kind)
	}
}
