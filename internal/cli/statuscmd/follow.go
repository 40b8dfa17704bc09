package statuscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Applications is the JSON of --engine argocd.
type Applications struct {
	FormatVersion string        `json:"formatVersion"`
	Healthy       int           `json:"healthy"`
	Applications  []Application `json:"applications"`
}

// Application is one Application of Argo CD.
type Application struct {
	Name     string `json:"name"` // namespace/name
	Set      string `json:"applicationSet"`
	Health   string `json:"health"`
	Revision string `json:"revision"`
	// Why is what keeps it from being Healthy at what it tracks, the root cause
	// first.
	Why []status.Cause `json:"why"`
}

// followPatience bounds the first look at all Applications.
const followPatience = 30 * time.Second

// follow looks at the Applications of Argo CD once.
func follow(ctx context.Context, o *Options) (Applications, error) {
	doc := Applications{FormatVersion: report.FormatVersion, Applications: []Application{}}
	access, err := o.Open(ctx)
	if err != nil {
		return doc, err
	}
	if _, err := access.Reach(ctx); err != nil {
		return doc, err
	}
	w, err := status.New(status.Config{REST: access.REST, Namespace: o.ArgoNamespace})
	if err != nil {
		return doc, exit.With(exit.CouldNotRun, err)
	}
	defer w.Close()
	bounded, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	if err := w.Start(bounded); err != nil {
		if ctx.Err() != nil {
			return doc, ctx.Err()
		}
		return doc, exit.With(exit.CouldNotRun, fmt.Errorf("look at the Applications in namespace %s: %w", o.ArgoNamespace, err))
	}
	for _, a := range w.All() {
		j := w.Judge(a.Ref)
		one := Application{Name: a.Ref.String(), Set: a.Set, Health: string(j.Health), Revision: j.Revision, Why: []status.Cause{}}
		if j.Health == rollout.Healthy {
			doc.Healthy++
		} else {
			one.Why = append(one.Why, status.Explain(w, a.Ref)...)
		}
		doc.Applications = append(doc.Applications, one)
	}
	if len(doc.Applications) == 0 {
		return doc, exit.With(exit.No, errors.New("there is no Application in namespace "+o.ArgoNamespace))
	}
	return doc, nil
}

func printApplications(w io.Writer, d Applications, _ report.Style) {
	rows := [][]string{{"  APPLICATION", "HEALTH", "WHY"}}
	for _, a := range d.Applications {
		sign, why := "✓", ""
		if a.Health != string(rollout.Healthy) {
			sign = "▶"
			if a.Health == string(rollout.Degraded) || a.Health == string(rollout.Missing) {
				sign = "✕"
			}
		}
		if len(a.Why) > 0 {
			c := a.Why[0]
			why = report.Plain(c.Message)
			if c.Application != a.Name {
				why = c.Application + ": " + why
			}
			if !c.Since.IsZero() {
				why += "  (since " + age(c.Since, time.Now()) + ")"
			}
		}
		rows = append(rows, []string{sign + " " + a.Name, a.Health, why})
	}
	report.Table(w, rows)
	fmt.Fprintf(w, "%d of %d Healthy\n", d.Healthy, len(d.Applications))
}
