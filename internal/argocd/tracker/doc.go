// Package tracker watches a rollout that somebody else drives: from how Argo CD's
// Applications look it makes the same state that a driven rollout has, with
// statuses, times, transitions and what each component waits for.
//
// It decides nothing but when there is nothing left to wait for: when every
// component is Healthy, when one has failed or timed out and nothing else moves,
// or when nothing has moved for long.
package tracker
