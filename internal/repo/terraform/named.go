package terraform

import (
	"bytes"
	"path"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// reads matches a file that Terraform reads beside itself: file("x.yaml"),
// templatefile("${path.module}/x.tpl", {...}).
var reads = lazyregexp.New(`\b(?:file|templatefile)\(\s*"(?:\$\{path\.(?:module|root|cwd)\}/)?([^"$/][^"$]*)"`)

// Named lists the files that a file of Terraform reads as texts, as far as their names
// are written out.
func Named(file File) []string {
	var all []string
	for _, m := range reads.FindAllSubmatch(withoutComments(file), -1) {
		all = append(all, path.Join(path.Dir(file.Path), string(m[1])))
	}
	return all
}

// withoutComments is the content of a file with spaces in place of its comments.
func withoutComments(file File) []byte {
	content := bytes.Clone(file.Content)
	tokens, _ := hclsyntax.LexConfig(file.Content, file.Path, hcl.InitialPos)
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment {
			copy(content[t.Range.Start.Byte:t.Range.End.Byte], bytes.Repeat([]byte(" "), len(t.Bytes)))
		}
	}
	return content
}
