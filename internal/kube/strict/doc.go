// Package strict decodes objects of Kubernetes' own kinds as the API server does with
// strict field validation, which kubectl asks for.
package strict
