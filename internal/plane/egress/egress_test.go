package egress_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
)

func TestParseService(t *testing.T) {
	type want struct {
		Service egress.Service
		OK      bool
	}
	hook := egress.Service{Namespace: "cert-manager", Name: "webhook", Port: 443}
	cases := map[string]struct {
		host string
		want want
	}{
		"service":           {"webhook.cert-manager.svc:443", want{hook, true}},
		"cluster domain":    {"webhook.cert-manager.svc.cluster.local:443", want{hook, true}},
		"absolute name":     {"webhook.cert-manager.svc.cluster.local.:443", want{hook, true}},
		"other port":        {"a.b.svc:8443", want{egress.Service{Namespace: "b", Name: "a", Port: 8443}, true}},
		"no port":           {"webhook.cert-manager.svc", want{}},
		"named port":        {"webhook.cert-manager.svc:https", want{}},
		"port zero":         {"webhook.cert-manager.svc:0", want{}},
		"port out of range": {"webhook.cert-manager.svc:65536", want{}},
		"node":              {"10.0.0.1:10250", want{}},
		"internet":          {"hooks.example.com:443", want{}},
		"no namespace":      {"webhook..svc:443", want{}},
		"pod of a headless": {"db-0.db.data.svc:443", want{}},
		"only the suffix":   {"svc:443", want{}},
		"empty":             {"", want{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got want
			got.Service, got.OK = egress.ParseService(tc.host)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseService(%q) (-want +got):\n%s", tc.host, diff)
			}
		})
	}
}

func TestServiceHostIsParsedBack(t *testing.T) {
	s := egress.Service{Namespace: "kyverno", Name: "kyverno-svc", Port: 9443}
	if got, ok := egress.ParseService(s.Host()); !ok || got != s {
		t.Errorf("ParseService(%q) = %+v, %v", s.Host(), got, ok)
	}
}

func TestSwitch(t *testing.T) {
	var s egress.Switch
	_, err := s.Dial(t.Context(), "a.b.svc:443")
	var refused *egress.RefusedError
	if !errors.As(err, &refused) || refused.Host != "a.b.svc:443" {
		t.Fatalf("the zero Switch answered %v, want a refusal of a.b.svc:443", err)
	}
	if !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%q does not read as a refused connection", err)
	}

	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	defer func() { _ = theirs.Close() }()
	s.Set(egress.DialFunc(func(_ context.Context, host string) (net.Conn, error) { return ours, nil }))
	if got, err := s.Dial(t.Context(), "a.b.svc:443"); err != nil || got != ours {
		t.Errorf("after Set: %v, %v", got, err)
	}

	s.Set(nil)
	if _, err := s.Dial(t.Context(), "a.b.svc:443"); err == nil {
		t.Error("after Set(nil) the Switch still answers")
	}
}
