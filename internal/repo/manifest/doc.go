// Package manifest holds rendered Kubernetes objects together with the place in
// the repository they come from, and reads them from YAML.
//
// Reading keeps the line of every document, flattens lists, and is bounded:
// documents over a size limit and aliases that expand without measure are
// errors, never work.
package manifest
