// Package egress is the way out of the plane's API server into the simulated
// cluster.
//
// A Service of the plane has a cluster address that nothing routes to, so the
// API server does not dial it. It asks a WebhookBackend instead, which the
// simulated world implements: it sees "webhook.namespace.svc:443", refuses while
// that Service has no ready endpoints, and otherwise answers as the webhook or
// the aggregated API would.
//
// The API server keeps connections open and sends further calls over them
// without dialling again. A backend that decides by the state of a Service must
// therefore decide for each request as well, or close each connection after one
// (http.Server.SetKeepAlivesEnabled(false)).
//
// # Which connections come here
//
// Admission webhooks and CRD conversion webhooks (by Service or by URL), the
// proxy and the availability checks of APIServices, the proxy subresources, and
// the kubelet of simulated nodes. The API server never dials the network itself.
//
// # Certificates
//
// The API server trusts the plane's webhook authority (Certificates) for every
// admission and conversion webhook in addition to the webhook's own caBundle. A
// backend therefore needs no certificate that matches the caBundle of a chart,
// which is often empty (cert-manager injects it) or made by the chart itself.
// Whether a webhook with an empty caBundle should be refused, as it would be in
// production before its injector ran, is the backend's decision: it refuses with
// the error "tls: failed to verify certificate: x509: certificate signed by
// unknown authority".
//
// APIServices are different: the aggregator takes the caBundle or
// insecureSkipTLSVerify of the APIService and nothing else. An APIService with
// neither needs Certificates.Bundle in its caBundle before it becomes Available.
//
// # Availability of APIServices
//
// The real availability controller runs. It wants the Service, its port, an
// EndpointSlice with a ready endpoint for that port, and then an answer of 2xx to
// GET /apis/<group>/<version> within 5 s; it looks again on every change of the
// Service or its EndpointSlices, after a failure with a growing delay of at most
// 30 s, and every 30 s. A simulated world does not write the APIService's status
// itself: the controller would overwrite it.
//
// An APIService that is not available makes discovery incomplete, and the
// namespace controller and garbage collector then refuse to finish what they
// do, as in production.
package egress
