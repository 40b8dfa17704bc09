// Package strict decodes objects of Kubernetes' own kinds as the API server does with
// strict field validation, which Argo CD and kubectl ask for.
package strict
