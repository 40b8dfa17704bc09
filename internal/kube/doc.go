// Package kube connects to the API server of a cluster. Its folders hold what is done
// there: apply, watch, judge health, check.
package kube
