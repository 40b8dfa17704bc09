package argocd

import (
	"context"
	"slices"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// names are the Applications that a root applies, at any depth that needs no further root, by
// their names.
func (r *Repository) names(ctx context.Context, root entry) (map[string]document, error) {
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }()
	names := map[string]document{}
	var documents []document
	below := func(app document) error {
		y, err := r.yieldApplication(ctx, app)
		if err != nil && len(repofs.InputErrors(err)) == 0 {
			return err
		}
		if err != nil {
			y.documents = r.writtenBelow(app)
		}
		documents = append(documents, y.documents...)
		return nil
	}
	switch {
	case root.folder != "":
		for _, p := range r.closure(root.folder) {
			documents = append(documents, r.files[p]...)
			if r.inflating[p] && len(documents) == 0 { // charts make what is in no file
				documents, _ = r.build(ctx, root.folder, nil)
			}
		}
		for _, app := range slices.DeleteFunc(slices.Clone(documents), func(d document) bool { return !d.isApplication() }) {
			if err := below(app); err != nil {
				return nil, err
			}
		}
	case root.document.argo("ApplicationSet"):
		documents = r.expand(ctx, root.document)
	default:
		if err := below(root.document); err != nil {
			return nil, err
		}
	}
	add := func(app document) {
		// That two sets are supposed to make one does not tell roots apart, unless it is
		// for a cluster.
		if app.generated == nil || !app.generated.assumed || app.generated.cluster > 0 {
			names[app.name()] = app
		}
	}
	for _, d := range documents {
		switch {
		case d.isApplication():
			add(d)
		case d.argo("ApplicationSet"):
			for _, app := range r.expand(ctx, d) {
				add(app)
			}
		}
	}
	return names, nil
}
