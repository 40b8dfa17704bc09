package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Where an object is applied: by the server, as its annotation or its Application says, or
// not, as its annotation says.
const (
	onServer    = "ServerSideApply=true"
	notOnServer = "ServerSideApply=false"
)

// byServer reports whether an object with sync options of its own is applied by the server. Source:
// gitops-engine, pkg/sync, shouldUseServerSideApply.
func byServer(c model.Component, own []string) bool {
	return (c.HasSyncOption(onServer) || slices.Contains(own, onServer)) && !slices.Contains(own, notOnServer)
}

// isApplication reports whether a component is an Application as somebody wrote it, which Argo CD
// applies from the client's side unless that is said otherwise.
func (r *Result) isApplication(c model.Component) bool {
	return slices.ContainsFunc(r.Platform.Argo.Applications, func(a argo.Application) bool { return a.Component == c.Name })
}

// tooLong finds objects of Applications that a client-side apply cannot apply, since it
// copies them into an annotation: most of them are definitions of kinds. Flux applies on
// the server's side, and so do Applications that Ladder writes where they need to. Source:
// kubectl, apply, GetModifiedConfiguration.
func (r *Result) tooLong(c model.Component, objects []manifest.Object) []finding.Finding {
	if c.HasSyncOption(replacing) || !r.isApplication(c) {
		return nil
	}
	_, applied := manifest.SyncPlaces(objects)
	var out []finding.Finding
	for i, o := range objects {
		options := manifest.Words(o.GetAnnotations()[syncOptionsAnnotation])
		if !applied[i] || byServer(c, options) || slices.Contains(options, replacing) || o.GetName() == "" {
			continue
		}
		length, tooLong := manifest.IsTooLong(o.Object)
		if !tooLong {
			continue
		}
		resource := o.Resource()
		at := o.Origin.Position()
		if len(out) > 0 {
			f := &out[0]
			f.Evidence = append(f.Evidence, finding.Evidence{Text: fmt.Sprintf("%s has %d KiB", resource.Human(), length>>10), File: at.File, Line: at.Line, Object: resource.String()})
			continue
		}
		out = append(out, finding.Finding{
			Rule: lint.RuleTooLong, Severity: finding.Error, Scope: finding.Rule, Component: c.Name, Resource: resource, Position: at, Basis: finding.Rendered,
			Message: fmt.Sprintf("%s has %d KiB, and a client-side apply copies it into an annotation, of which the API server takes %d KiB: the sync of %s fails with \"metadata.annotations: Too long\"",
				resource.Human(), length>>10, manifest.MostAnnotated>>10, c.Name),
			Fix: finding.Fix{Summary: fmt.Sprintf("add %s to the syncOptions of %s", onServer, c.Name)},
		})
	}
	if len(out) > 0 && len(out[0].Evidence) > 0 {
		out[0].Message = strings.Replace(out[0].Message, ", and a client-side", fmt.Sprintf(" (%d more are as long), and a client-side", len(out[0].Evidence)), 1)
	}
	return out
}
