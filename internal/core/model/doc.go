// Package model holds the words of the model. Use these words, in code,
// documents and output, and no others for the same thing.
//
//   - component: the unit that is rolled out: one descriptor, one Argo CD
//     Application per environment.
//   - phase: a component's place in the ladder, 0 to 999, printed with three
//     digits; the label rollout-phase of the generated Application.
//   - band: a range of phases owned by a domain (foundation 100-199, ...).
//   - slot: the role inside a band (x10 CRDs, x20 operators, ...).
//   - ladder: the ordered list of steps with their phases and maxUpdate.
//   - step: one RollingSync step: the phases it matches and its maxUpdate.
//   - edge: "A requires B", declared in a descriptor or inferred with evidence.
//   - capability: something provided or required: a CRD, a Secret, ...
//   - gate: the condition under which a component may start: everything it
//     requires is Healthy at the rollout's revision.
//   - smoke: a component that validates others, last in its band.
//   - rollout: one run of a ladder at one revision; a rehearsal is a rollout on
//     the embedded plane (control plane).
//   - sync wave: only the annotation argocd.argoproj.io/sync-wave.
//   - environment: dev, staging, prod, ...: overlays of the same components.
//
// The package imports the standard library only.
package model
