package main

import (
	"bytes"
	"fmt"
	"strings"
)

const rule = "================================================================================\n"

// document is the text of all licences, each once.
func document(modules []*module) []byte {
	var b bytes.Buffer
	b.WriteString(`Third-party licences

The binaries ladder, ladder-argocd and ladder-argocd-helm link the modules below. Each is
distributed under its own licence, unmodified; its source is at its address, in
the version that is named. Made by make generate from the texts in the modules.

`)
	for _, m := range modules {
		fmt.Fprintf(&b, "%s  [%s]  %s\n", name(m), strings.Join(m.ids(), ", "), strings.Join(m.binaries, ", "))
	}
	type group struct {
		text  string
		files []string
	}
	var groups []*group
	by := map[string]*group{}
	for _, m := range modules {
		for _, l := range m.licences {
			// Copies of a licence differ in how their lines are broken.
			key := strings.Join(strings.Fields(l.text), " ")
			if by[key] == nil {
				by[key] = &group{text: l.text}
				groups = append(groups, by[key])
			}
			by[key].files = append(by[key].files, name(m)+"  "+l.file)
		}
	}
	for _, g := range groups {
		b.WriteString("\n" + rule + strings.Join(g.files, "\n") + "\n" + rule + "\n" + g.text + "\n")
	}
	return b.Bytes()
}

func name(m *module) string { return strings.TrimSpace(m.path + " " + m.version) }
