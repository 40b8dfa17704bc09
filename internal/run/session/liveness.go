package session

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
	livenessInterval = time.Second
	// livenessPatience is how long one question waits for its answer; several are
	// under way at once.
	livenessPatience = 10 * time.Second
	livenessUnderWay = 5
	// standstill is the silence after which the clocks of the rollout stop.
	standstill = 3 * time.Second
	// silenceFailures and Liveness.Limit together make a server that must be taken
	// for hung: that long without any answer, and this many questions in a row that
	// got none.
	silenceFailures = 5
)

// Liveness watches whether the API server answers at all. What it answers does not
// matter: one that is not ready says so.
type Liveness struct {
	// Ask returns nil for any answer.
	Ask   func(context.Context) error
	Clock *Clock // held while there is no answer
	Now   func() time.Time
	// Limit is the silence after which the server must be taken for hung.
	Limit time.Duration
}

// Watch asks until ctx ends, or until the API server must be taken for hung:
// then it returns how long it has been silent, else 0.
func (p *Liveness) Watch(ctx context.Context) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.Clock.let()
	answers := make(chan bool, livenessUnderWay)
	ticker := time.NewTicker(livenessInterval)
	defer ticker.Stop()
	answered, failures, underWay := p.Now(), 0, 0
	for {
		select {
		case <-ctx.Done():
			return 0
		case ok := <-answers:
			underWay--
			if ok {
				answered, failures = p.Now(), 0
				p.Clock.let()
			} else {
				failures++
			}
		case <-ticker.C:
			if underWay < livenessUnderWay {
				underWay++
				go func() {
					one, done := context.WithTimeout(ctx, livenessPatience)
					defer done()
					answers <- p.Ask(one) == nil
				}()
			}
		}
		silent := p.Now().Sub(answered)
		if silent >= standstill {
			p.Clock.hold()
		}
		if silent >= p.Limit && failures >= silenceFailures {
			return silent
		}
	}
}

// AskReady asks an API server whether it is ready. Each question has a
// connection of its own, since one that hangs tells nothing about the server.
func AskReady(access *rest.Config) (func(context.Context) error, error) {
	config := rest.CopyConfig(access)
	config.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
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
