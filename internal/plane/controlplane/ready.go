package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// readyPoll is how often readiness is looked at; it costs next to nothing on
	// the loopback address.
	readyPoll = 20 * time.Millisecond
	// readyTimeout is far beyond what the slowest machine needs.
	readyTimeout = 2 * time.Minute
)

// waitServing waits until the API server says it is ready.
func waitServing(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	last := "no answer"
	err = wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			last = err.Error()
			return false, nil //nolint:nilerr // not up yet; the last error is told when time runs out
		}
		last = response.Status
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for the API server (%s): %w", last, err)
	}
	return nil
}

// waitUsable waits until the controllers have made what pods need: without the
// default service account the first workloads would be refused and retried.
func waitUsable(ctx context.Context, client kubernetes.Interface) error {
	err := wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait for the controllers: %w", err)
	}
	return nil
}
