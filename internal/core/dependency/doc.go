// Package dependency holds what one object requires of another: the unit that
// package infer finds, package lint judges and package plan sees merged into
// edges between components.
//
// It is part of the core.
package dependency
