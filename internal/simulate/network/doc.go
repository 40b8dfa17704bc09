// Package network stands in for what listens inside the cluster: webhooks and
// aggregated APIs answer while their Service has ready endpoints, injectors
// write the caBundle of webhooks, and Services of type LoadBalancer get an
// address.
package network
