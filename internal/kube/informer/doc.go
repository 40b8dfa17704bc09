// Package informer lists and watches the objects of a resource, and notices when
// nothing comes through a watch any more: a proxy or a load balancer may keep a
// connection open behind which nobody is left. What is judged by a watch that
// died unnoticed is judged by the past, and called late although it is ready.
package informer
