package idle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

// askPatience bounds one order: the plane itself waits a second or two.
const askPatience = 20 * time.Second

// ErrNoClock says that a plane has no simulated world, or one that takes no orders.
var ErrNoClock = errors.New("it is empty, or an older ladder started it; begin with another one, or let time pass with --speed 60")

// Over returns what asks the plane behind an API server.
func Over(access *rest.Config) (Ask, error) {
	client, err := rest.HTTPClientFor(access)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	address := strings.TrimSuffix(access.Host, "/") + child.ClockPath
	return func(ctx context.Context, o Order) (Answer, error) {
		answer, err := post(ctx, client, address, o)
		if err != nil {
			return Answer{}, fmt.Errorf("ask the plane about its clock: %w", err)
		}
		return answer, nil
	}, nil
}

func post(ctx context.Context, client *http.Client, address string, o Order) (Answer, error) {
	var answer Answer
	body, err := json.Marshal(o)
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestOrder))
	if err != nil {
		return answer, err
	}
	if response.StatusCode == http.StatusNotFound {
		return answer, ErrNoClock
	}
	if response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return answer, json.Unmarshal(text, &answer)
}
