// Package engine is the engine that needs nothing but an API server: it applies
// the objects of a component itself, with Argo CD's semantics inside a
// component, and reports health from watches.
//
// Objects are applied server-side through the dynamic client, one request per
// object, rather than through fluxcd/pkg/ssa: its manager applies a set in
// stages of its own and reports a change set, while here the order (phases,
// waves, kinds), the wait between waves and the one object that a failure is
// about are the point. Conflicts are forced, as Argo CD does with
// ServerSideApply=true; other managers keep the fields that are not rendered.
//
// Every object carries the annotations ladder.rollout-ladder.dev/component and
// ladder.rollout-ladder.dev/revision. What a component consists of is kept in
// a ConfigMap of the namespace ladder-system, written before the first object
// is applied and again after the last one, so that no crash loses an object
// that must be pruned later. It also holds what a removal needs when the
// repository lacks the component: its place in the order of application, its
// gates and its hooks; see Vanished and Remove.
package engine
