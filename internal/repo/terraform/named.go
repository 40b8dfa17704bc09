package terraform

import (
	"path"
	"regexp"
)

// reads matches a file that Terraform reads beside itself: file("x.yaml"),
// templatefile("${path.module}/x.tpl", {...}).
var reads = regexp.MustCompile(`\b(?:file|templatefile)\(\s*"(?:\$\{path\.(?:module|root|cwd)\}/)?([^"$/][^"$]*)"`)

// comments matches the lines that are comments.
var comments = regexp.MustCompile(`(?m)^[ \t]*(?:#|//).*$`)

// Named lists the files that a file of Terraform reads as texts, as far as their names
// are written out.
func Named(file File) []string {
	var all []string
	for _, m := range reads.FindAllSubmatch(comments.ReplaceAll(file.Content, nil), -1) {
		all = append(all, path.Join(path.Dir(file.Path), string(m[1])))
	}
	return all
}
