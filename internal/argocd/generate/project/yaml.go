package project

import (
	"bytes"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// YAML writes the projects as one file. A comment before a project names the
// Applications for which it may allow too little.
func (r Result) YAML() ([]byte, error) {
	var out bytes.Buffer
	for i, p := range r.Projects {
		if i > 0 {
			out.WriteString("---\n")
		}
		for _, m := range r.Missing {
			if m.Project == p.Metadata.Name {
				fmt.Fprintf(&out, "# Not everything of %s could be counted: %s\n", m.Application, oneLine(m.Reason))
			}
		}
		text, err := yaml.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("write AppProject %s: %w", p.Metadata.Name, err)
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
