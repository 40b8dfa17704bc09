// Package strict decodes objects of Kubernetes' own kinds as the API server does with
// strict field validation, which Argo CD, Flux and kubectl ask for.
package strict
