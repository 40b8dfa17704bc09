// Package generate makes the Argo CD objects of a platform from its plan: the
// root Application, and below it one ApplicationSet with RollingSync (layout
// single), one for each tier under Applications with sync waves (tiers), or
// Applications with sync waves (app-of-apps); AppProjects, the settings of
// Argo CD that the order rests on, and Jobs of declarative smoke checks.
//
// # What the order rests on
//
// RollingSync starts a step when every Application of the steps before it is
// Healthy, and says nothing about the Applications inside a step, of which
// maxUpdate are in flight. Sync waves of Applications wait for the wave before,
// where argocd-cm has a health check for argoproj.io/Application. Nothing sets
// spec.dependsOn, which Argo CD does not have.
//
// So an edge is kept where its provider stands in an earlier step. One inside a
// step is kept by parting the step: its Applications get the label rollout-part
// too, and each part is a RollingSync step of its own, with the maxUpdate of the
// whole. That is done for edges that are hard, and for soft ones where those that
// wait could fill the step before what they wait for has started. An edge whose
// provider stands in a later step, or in a later tier, cannot be kept; nor can a
// cycle. If it is hard, that is an *EdgeError, else a Warning.
//
// # How descriptors become Applications
//
// The ApplicationSet reads the descriptors with a git generator, through a
// template that knows every field. Build expands what it wrote, as the
// ApplicationSet controller would, and compares the result with the Applications
// that the components ask for; where a descriptor says something in a way that
// the template cannot read, the elements are written out instead.
//
// Marshalling sorts; the same input gives the same bytes.
package generate
