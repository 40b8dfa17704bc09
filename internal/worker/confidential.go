package worker

import (
	"bytes"
	"encoding/json"
	"path"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// redact takes the secrets of a source's inputs out of what is said of it: those of
// the files that were read, and of its values. It reads these inputs once more, so it
// runs in the worker.
func redact(view *source.Asked, src model.Source, text string) string {
	var held confidential.Values
	view.Each(func(name string, data []byte) {
		// What is not text is an archive, which comes from elsewhere. A schema is for
		// all who use a chart.
		if bytes.IndexByte(data, 0) < 0 && path.Base(name) != "values.schema.json" {
			held.AddText(data)
		}
	})
	for _, given := range []any{src.Values, src.Parameters, src.StringParameters, src.Kustomize} {
		if text, err := json.Marshal(given); err == nil {
			held.AddText(text)
		}
	}
	return held.Redact(text)
}
