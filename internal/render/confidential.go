package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/confidential"
	"github.com/rollout-ladder/ladder/internal/render/helm"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

// fresh renders a source. What it says where it cannot is without the secrets of
// its inputs: the files that were read, and the values of the source.
func (r *Renderer) fresh(ctx context.Context, view *source.View, c component.Component, src component.Source, versions []string) (helm.Result, error) {
	result, err := r.source(ctx, view, c, src, versions)
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	var problem *source.Error
	if !errors.As(err, &problem) {
		problem = &source.Error{Position: src.Position, Reason: err.Error(), Err: err}
		err = problem
	}
	problem.Reason = r.inputs(view, src).Redact(problem.Reason)
	return result, err
}

// inputs are the secrets in what a source was rendered from.
func (r *Renderer) inputs(view *source.View, src component.Source) *confidential.Values {
	all := &confidential.Values{}
	trace, _ := view.Trace()
	for _, step := range trace {
		if step.Op != "read" {
			continue
		}
		known, ok := r.secrets.Load(step.Answer)
		if !ok {
			values := &confidential.Values{}
			text, err := view.Tree().View().Read(step.Path)
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
