package bootstrap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
)

// initialAdminSecret holds the first password of admin until somebody deletes it.
// Source: Argo CD, "Getting Started".
const initialAdminSecret = "argocd-initial-admin-secret"

// passwordPatience is how long a cluster may take to tell the password.
const passwordPatience = 15 * time.Second

// password puts the first password of admin into the report where it was asked
// for.
func (r *run) password(ctx context.Context, b *report.Bootstrap) {
	if !r.options.ShowAdminPassword || r.options.DryRun {
		return
	}
	if r.sources == nil || r.target == nil {
		b.Warnings = append(b.Warnings, "the password of admin is not known: the cluster was not reached")
		return
	}
	live, err := r.get(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, r.sources.namespace, initialAdminSecret)
	if err != nil {
		b.Warnings = append(b.Warnings, "the password of admin cannot be read: "+err.Error())
		return
	}
	encoded := ""
	if live != nil {
		encoded, _, _ = unstructured.NestedString(live.Object, "data", "password")
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if len(text) == 0 || err != nil {
		b.Warnings = append(b.Warnings, fmt.Sprintf("the password of admin is not known: there is no Secret %s/%s with it, which Argo CD makes when it starts first and people delete", r.sources.namespace, initialAdminSecret))
		return
	}
	b.AdminPassword = string(text)
}

// Forward listens on a port of the loopback and passes connections on to Argo CD's
// web page, until ctx ends. ready is told the address.
func (o Outcome) Forward(ctx context.Context, p PortForward, ready func(address string)) error {
	if o.Access == nil || o.Access.Simulated {
		return errors.New("there is nothing to forward a port to: on a plane no process runs in a pod")
	}
	client, err := smoke.Connect(o.Access.REST, time.Now)
	if err != nil {
		return err
	}
	dial := smoke.Forwarder(o.Access.REST, client)
	to := net.JoinHostPort(p.Service+"."+o.Namespace+".svc", strconv.Itoa(p.Port))
	return forward(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(p.LocalPort)), func(ctx context.Context) (net.Conn, error) {
		return dial(ctx, "tcp", to)
	}, ready)
}

// forward passes every connection to an address on to one that dial opens.
func forward(ctx context.Context, address string, dial func(context.Context) (net.Conn, error), ready func(string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("forward a port: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	ready(listener.Addr().String())
	var passing sync.WaitGroup
	defer passing.Wait()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("forward a port: %w", err)
		}
		passing.Go(func() { pass(ctx, conn, dial) })
	}
}

// pass copies both ways until one side ends.
func pass(ctx context.Context, near net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer func() { _ = near.Close() }()
	far, err := dial(ctx)
	if err != nil {
		return // whoever connected sees the end
	}
	defer func() { _ = far.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}
