package snapshot

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// YAML is the file: a document for each object. The same state makes the same bytes.
func (s *Snapshot) YAML() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(ladderfile.SnapshotMark)
	for _, o := range s.Objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
