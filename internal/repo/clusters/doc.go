// Package clusters finds out which clusters Argo CD knows where the repository does not
// list them: from cluster Secrets that it writes, and from what the tree leaves as the only
// way to fill in a template.
//
// What is not known of a cluster is a mark (appset.Mark) in its texts. A parameter that
// exactly one place of the tree fits has that value; several places of one folder are
// several clusters.
package clusters
