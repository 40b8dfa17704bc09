// Package manifest holds rendered Kubernetes objects together with the place in
// the repository they come from.
package manifest
