package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/confidential"
	"github.com/rollout-ladder/ladder/internal/evaluate"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

// fresh renders a source. What it says where it cannot is without the secrets of
// its inputs: the files that were read, and the values of the source.
func (r *Renderer) fresh(ctx context.Context, view *source.Recording, c component.Component, src component.Source, versions []string) (evaluate.Reply, []manifest.Object, error) {
	reply, err := r.source(ctx, view, c, src, versions)
	objects, readable := objectsOf(reply)
	if err == nil && !readable {
		err = source.Errorf(src.Position, "what the source renders to cannot be read")
	}
	var problem *source.Error
	if errors.As(err, &problem) {
		problem.Reason = r.inputs(view, src).Redact(problem.Reason)
	}
	return reply, objects, err
}

// inputs are the secrets in what a source was rendered from.
func (r *Renderer) inputs(view *source.Recording, src component.Source) *confidential.Values {
	all := &confidential.Values{}
	trace, _ := view.Trace()
	for _, step := range trace {
		if step.Op != "read" {
			continue
		}
		known, ok := r.secrets.Load(step.Answer)
		if !ok {
			values := &confidential.Values{}
			text, err := r.tree.View().Read(step.Path)
			// What is not text is an archive, which comes from elsewhere. A schema is for
			// all who use a chart.
			if err == nil && bytes.IndexByte(text, 0) < 0 && path.Base(step.Path) != "values.schema.json" {
				values.AddText(text)
			}
			known, _ = r.secrets.LoadOrStore(step.Answer, values)
		}
		all.Join(known.(*confidential.Values))
	}
	for _, given := range []any{src.Values, src.Parameters, src.StringParameters, src.Kustomize} {
		if text, err := json.Marshal(given); err == nil {
			all.AddText(text)
		}
	}
	return all
}
