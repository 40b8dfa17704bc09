package kube

import (
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Connect returns two clients of an API server: one for objects of every kind, one for
// the kinds that it serves. Warnings of the server are not printed. Connect does not
// talk to the server yet.
func Connect(config *rest.Config) (dynamic.Interface, discovery.DiscoveryInterface, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	return objects, kinds, nil
}
