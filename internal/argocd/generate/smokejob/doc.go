// Package smokejob makes of the declarative checks of a smoke a Job that Argo CD
// runs as a hook: the checks in a ConfigMap, a ServiceAccount with the least
// rights that reading what they look at needs, and a Job that runs
//
//	ladder smoke --checks /checks/checks.yaml --in-cluster --wait DURATION
//
// which repeats the checks until all hold or the wait is over. Read reads the file
// of checks; Runs tells of a pod which file it was given, so that a rehearsal can
// run the same checks with the same rights.
package smokejob
