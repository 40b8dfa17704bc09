// Package resourceset fills in the templates of a ResourceSet, the kind by which
// flux-operator makes objects of a list of inputs. Templates run in a worker, where
// nothing of this machine is within reach: see package evaluate.
package resourceset
