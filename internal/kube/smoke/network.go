package smoke

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// checkHTTP asks a URL. Redirects are not followed: the wanted status may be
// one. Certificates are not verified, since a smoke asks whether the server
// answers; the check kind certificate verifies chains.
func checkHTTP(ctx context.Context, client Client, check model.Check, options Options) (string, error) {
	target, err := url.Parse(check.URL)
	if err != nil || target.Host == "" {
		return "", fmt.Errorf("%q is not a URL", check.URL)
	}
	if options.Simulated {
		return checkHost(ctx, client, target.Hostname(), check.Namespace)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, check.URL, nil)
	if err != nil {
		return "", fmt.Errorf("%q is not a URL", check.URL)
	}
	transport := &http.Transport{
		DialContext: inNamespace(options.Dial, check.Namespace),
		//nolint:gosec // see the comment of the function
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}
	web := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := web.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the URL is named by the check
		}
		return "", fmt.Errorf("does not answer: %w", err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
	if want := cmp.Or(check.Status, http.StatusOK); response.StatusCode != want {
		return "", fmt.Errorf("answers %d, not %d", response.StatusCode, want)
	}
	return fmt.Sprintf("answers %d", response.StatusCode), nil
}

// checkTCP opens a connection.
func checkTCP(ctx context.Context, client Client, check model.Check, options Options) (string, error) {
	host, _, err := net.SplitHostPort(check.Address)
	if err != nil {
		return "", fmt.Errorf("%q is not host:port", check.Address)
	}
	if options.Simulated {
		return checkHost(ctx, client, host, check.Namespace)
	}
	conn, err := inNamespace(options.Dial, check.Namespace)(ctx, "tcp", check.Address)
	if err != nil {
		return "", fmt.Errorf("does not accept connections: %w", err)
	}
	_ = conn.Close()
	return "accepts connections", nil
}

// inNamespace has a Service that is named without its namespace looked for in
// that of the check, wherever the check runs.
func inNamespace(dial Dialer, namespace string) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err == nil && namespace != "" && !strings.Contains(host, ".") {
			if name, ns, inside := ServiceOf(host, namespace); inside {
				address = net.JoinHostPort(name+"."+ns+".svc", port)
			}
		}
		return dial(ctx, network, address)
	}
}

// checkHost holds when the Service that a host name means has ready endpoints,
// or, for a name outside the cluster, when a Gateway, route or Ingress serves
// it.
func checkHost(ctx context.Context, client Client, host, namespace string) (string, error) {
	name, ns, inside := ServiceOf(host, namespace)
	if inside {
		return checkEndpoint(ctx, client, ns, name)
	}
	return checkPublicHost(ctx, client, host)
}

// ServiceOf splits the DNS name of a Service: name, name.namespace,
// name.namespace.svc, name.namespace.svc.<cluster domain>. ok is false for
// other names. Source: Kubernetes, "DNS for Services and Pods".
func ServiceOf(host, namespace string) (name, ns string, ok bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	switch {
	case net.ParseIP(host) != nil || host == "localhost":
		return "", "", false
	case len(parts) == 1:
		return parts[0], namespace, namespace != ""
	case len(parts) == 2, len(parts) >= 3 && parts[2] == "svc":
		return parts[0], parts[1], true
	case len(parts) > 3 && parts[3] == "svc": // a pod of a headless Service
		return parts[1], parts[2], true
	default:
		return "", "", false
	}
}

// checkPublicHost looks for who serves a host name of the outside world.
func checkPublicHost(ctx context.Context, client Client, host string) (string, error) {
	for _, kind := range []schema.GroupKind{
		{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
		{Group: "networking.k8s.io", Kind: "Ingress"},
	} {
		list, err := client.List(ctx, kind, "")
		var missing *NotFoundError
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return "", err
		}
		for _, obj := range list {
			if !serves(obj.Object, host) {
				continue
			}
			if kind.Kind == "HTTPRoute" {
				if err := hasCondition(obj, "Accepted", "True"); err != nil {
					return "", fmt.Errorf("HTTPRoute %s/%s %w", obj.GetNamespace(), obj.GetName(), err)
				}
			}
			backend, ok := firstBackend(obj.Object, obj.GetNamespace())
			if !ok {
				return fmt.Sprintf("%s %s/%s serves it", kind.Kind, obj.GetNamespace(), obj.GetName()), nil
			}
			return checkEndpoint(ctx, client, backend.namespace, backend.name)
		}
	}
	return "", fmt.Errorf("nothing in the cluster serves the host %s", host)
}

// serves reports whether a route or Ingress names a host, also by wildcard.
func serves(object map[string]any, host string) bool {
	spec, _ := object["spec"].(map[string]any)
	var names []any
	if list, ok := spec["hostnames"].([]any); ok {
		names = list
	}
	rules, _ := spec["rules"].([]any)
	for _, r := range rules {
		if m, ok := r.(map[string]any); ok && m["host"] != nil {
			names = append(names, m["host"])
		}
	}
	for _, n := range names {
		name, _ := n.(string)
		suffix, wild := strings.CutPrefix(name, "*")
		if name == host || (wild && strings.HasSuffix(host, suffix)) {
			return true
		}
	}
	return false
}

type backend struct{ namespace, name string }

// firstBackend returns the Service behind the first rule of a route or Ingress.
func firstBackend(object map[string]any, namespace string) (backend, bool) {
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		refs, _ := rule["backendRefs"].([]any)
		for _, ref := range refs {
			m, _ := ref.(map[string]any)
			name, _ := m["name"].(string)
			other, _ := m["namespace"].(string)
			if kind, said := m["kind"].(string); name != "" && (!said || kind == "Service") {
				return backend{cmp.Or(other, namespace), name}, true
			}
		}
		web, _ := rule["http"].(map[string]any)
		paths, _ := web["paths"].([]any)
		for _, p := range paths {
			path, _ := p.(map[string]any)
			b, _ := path["backend"].(map[string]any)
			service, _ := b["service"].(map[string]any)
			if name, _ := service["name"].(string); name != "" {
				return backend{namespace, name}, true
			}
		}
	}
	return backend{}, false
}
