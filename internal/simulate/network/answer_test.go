package network

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		want               map[string]any // part of the answer
	}{
		"admits": {
			"POST", "/validate", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1"}}`, 200,
			map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": map[string]any{"uid": "u1", "allowed": true}},
		},
		"converts": {
			"POST", "/convert", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[{"apiVersion":"g/v1","kind":"K"}]}}`, 200,
			map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": map[string]any{
				"uid": "u", "result": map[string]any{"status": "Success"}, "convertedObjects": []any{map[string]any{"apiVersion": "g/v2", "kind": "K"}},
			}},
		},
		"serves a group": {
			"GET", "/apis/metrics.k8s.io/v1beta1", "", 200,
			map[string]any{"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "metrics.k8s.io/v1beta1", "resources": []any{}},
		},
		"has no resources": {"GET", "/apis/metrics.k8s.io/v1beta1/pods", "", 404, nil},
		"answers":          {"GET", "/healthz", "", 200, nil},
		"junk":             {"POST", "/x", "junk", 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			answer(w, httptest.NewRequest(test.method, test.path, strings.NewReader(test.body)))
			if w.Code != test.status {
				t.Errorf("status %d, want %d", w.Code, test.status)
			}
			if test.want == nil {
				return
			}
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestListenerSpeaksBoth dials the same listener plainly and with TLS, as the
// API server does.
func TestListenerSpeaksBoth(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer secure.Close()
	l := newPipes(&tls.Config{Certificates: secure.TLS.Certificates, MinVersion: tls.VersionTLS12})
	server := &http.Server{Handler: http.HandlerFunc(answer)} //nolint:gosec // a test's
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	dial := func() net.Conn {
		client, end := net.Pipe()
		l.connections <- end
		return client
	}
	for name, conn := range map[string]net.Conn{
		"plain": dial(),
		"TLS":   tls.Client(dial(), &tls.Config{InsecureSkipVerify: true}), //nolint:gosec // a test's
	} {
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(text), "simulated") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
