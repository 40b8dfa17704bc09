// Package descriptor reads component descriptors, component.yaml and
// component.disabled.yaml, into components. docs/descriptor.md describes the
// format.
//
// What cannot be understood at all is an error: every such problem of every
// file, joined. Everything else is a finding, and the field is left out.
package descriptor
