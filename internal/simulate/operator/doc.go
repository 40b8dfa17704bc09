// Package operator stands in for the controllers of custom resources, driven by
// rules: while a rule's controller is available, objects of its kind get what
// the controller would make and the status it would report; while it is not,
// nothing at all.
package operator
