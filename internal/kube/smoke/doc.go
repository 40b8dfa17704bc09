// Package smoke runs the declarative smoke checks of a component: conditions,
// Secrets, certificate chains, Jobs, endpoints, HTTP and TCP, and CEL.
//
// A result never holds the value of a Secret: messages name keys, subjects and
// fields only.
package smoke
