package rehearse

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// How the API server is asked whether it answers. The bounds are generous: a
// machine of two cores under full load answers late, but it answers.
const (
	pulseInterval = time.Second
	// pulsePatience is how long one question waits for its answer; several are
	// under way at once.
	pulsePatience = 10 * time.Second
	pulseUnderWay = 5
	// standstill is the silence after which the clocks of the rollout stop.
	standstill = 3 * time.Second
	// silenceLimit and silenceFailures together end the rehearsal: this long
	// without any answer, and this many questions in a row that got none.
	silenceLimit    = 30 * time.Second
	silenceFailures = 5
)

// pulse watches whether the API server answers at all. What it answers does not
// matter: one that is not ready says so.
type pulse struct {
	// ask returns nil for any answer.
	ask   func(context.Context) error
	clock *standingClock // held while there is no answer
	now   func() time.Time
}

// watch asks until ctx ends, or until the API server must be taken for hung:
// then it returns how long it has been silent, else 0.
func (p *pulse) watch(ctx context.Context) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.clock.let()
	answers := make(chan bool, pulseUnderWay)
	ticker := time.NewTicker(pulseInterval)
	defer ticker.Stop()
	answered, failures, underWay := p.now(), 0, 0
	for {
		select {
		case <-ctx.Done():
			return 0
		case ok := <-answers:
			underWay--
			if ok {
				answered, failures = p.now(), 0
				p.clock.let()
			} else {
				failures++
			}
		case <-ticker.C:
			if underWay < pulseUnderWay {
				underWay++
				go func() {
					one, done := context.WithTimeout(ctx, pulsePatience)
					defer done()
					answers <- p.ask(one) == nil
				}()
			}
		}
		silent := p.now().Sub(answered)
		if silent >= standstill {
			p.clock.hold()
		}
		if silent >= silenceLimit && failures >= silenceFailures {
			return silent
		}
	}
}

// askReady asks an API server whether it is ready. Each question has a
// connection of its own, since one that hangs tells nothing about the server.
func askReady(access *rest.Config) (func(context.Context) error, error) {
	config := rest.CopyConfig(access)
	config.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	url := strings.TrimSuffix(config.Host, "/") + "/readyz"
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		request.Close = true
		response, err := transport.RoundTrip(request)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body) // that it answered is enough
		return response.Body.Close()
	}, nil
}

// PlaneSilentError says that the control plane's process lives and answers
// nothing any more: it was stopped, or the machine has no time left for it.
type PlaneSilentError struct {
	PID    int
	Server string
	// For is how long there has been no answer.
	For time.Duration
	// Kept is set when the plane stays: the rollout can be resumed on it.
	Kept bool
}

// Error implements error.
func (e *PlaneSilentError) Error() string {
	message := fmt.Sprintf("the control plane stopped answering in the middle of the rollout: nothing came from %s for %s, though its process %d lives; no component is to blame",
		e.Server, e.For.Round(time.Second), e.PID)
	if e.Kept {
		message += " (when it answers again, go on with --resume)"
	}
	return message
}
