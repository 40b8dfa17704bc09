// Package fetch is the one place that speaks to the network for a repository:
// remote files, Git repositories and Helm charts.
//
// What a repository names is hostile input. So every rule is a list of what is
// allowed, and it is checked where it takes effect: the scheme and the host before
// each request, redirects included, and the address when the connection is made.
// No program is started but the credential helpers that the configuration of the
// user names for a registry. Content is returned as bytes or as plain files below the
// cache; nothing is unpacked, parsed as a template or evaluated here.
package fetch
