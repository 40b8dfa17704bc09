package descriptor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The names of descriptor files.
const (
	FileName         = "component.yaml"
	DisabledFileName = "component.disabled.yaml"
)

// read is one descriptor file, read.
type read struct {
	component model.Component
	findings  []finding.Finding
	err       error
}

// Read reads every descriptor below the folders, in the order of their paths.
// A descriptor in a later folder replaces those of the same name in earlier
// ones; two of the same name in one folder are a finding, and the first counts.
func Read(ctx context.Context, folders []string, against Context) ([]model.Component, []finding.Finding, error) {
	var (
		components []model.Component
		findings   []finding.Finding
		problems   []error
	)
	for _, folder := range folders {
		cs, fs, err := readFolder(ctx, path.Clean(folder), against)
		if err != nil {
			if len(repofs.InputErrors(err)) == 0 {
				return nil, nil, err
			}
			problems = append(problems, err)
		}
		replaced := map[string]bool{}
		for _, c := range cs {
			replaced[c.Name] = true
		}
		components = append(slices.DeleteFunc(components, func(c model.Component) bool { return replaced[c.Name] }), cs...)
		findings = append(slices.DeleteFunc(findings, func(f finding.Finding) bool { return replaced[f.Component] }), fs...)
	}
	return components, findings, Join(problems...)
}

// Join is errors.Join for the errors of descriptors. What several components have at one place, such
// as a layer of values in ladder.yaml, is one error that says how many they are.
func Join(problems ...error) error {
	type cause struct {
		at            finding.Position
		message, hint string
	}
	var all []error
	first, components := map[cause]*repofs.InputError{}, map[cause]int{}
	for _, problem := range problems {
		inputs := repofs.InputErrors(problem)
		if len(inputs) == 0 {
			all = append(all, problem)
		}
		for _, in := range inputs {
			c := cause{in.Position, in.Message, in.Hint}
			if components[c]++; components[c] == 1 {
				told := *in
				first[c] = &told
				all = append(all, &told)
			}
		}
	}
	for c, n := range components {
		if n > 1 {
			first[c].Message += fmt.Sprintf("; this concerns %d components", n)
		}
	}
	return errors.Join(all...)
}

func readFolder(ctx context.Context, folder string, against Context) ([]model.Component, []finding.Finding, error) {
	found, err := against.Tree.Find(ctx, folder, func(name string) bool { return name == FileName || name == DisabledFileName })
	if err != nil && len(repofs.InputErrors(err)) == 0 {
		return nil, nil, err
	}
	results := make([]read, len(found))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range found {
		group.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			results[i] = readFile(file, folder, against)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, fmt.Errorf("read descriptors below %s: %w", folder, err)
	}

	problems := []error{err}
	components := make([]model.Component, 0, len(results))
	var findings []finding.Finding
	first := make(map[string]int, len(results)) // places in components
	for i := range results {
		r := &results[i]
		findings = append(findings, r.findings...)
		if r.err != nil {
			problems = append(problems, r.err)
			continue
		}
		c := &r.component
		if other, ok := first[c.Name]; ok {
			findings = append(findings, Duplicate(components[other], *c))
			continue
		}
		first[c.Name] = len(components)
		components = append(components, *c)
	}
	return components, findings, errors.Join(problems...)
}

// Duplicate is the finding that two components have the same name.
func Duplicate(first, second model.Component) finding.Finding {
	return finding.Finding{
		Rule: RuleDuplicate, Severity: finding.Error, Scope: finding.Rule,
		Environment: second.Environment, Component: second.Name, Provider: first.Name,
		Message:  fmt.Sprintf("duplicate name %s, ignored (first at %s)", second.Name, first.At("name")),
		Position: second.At("name"),
		Evidence: []finding.Evidence{
			{Text: "first definition", File: first.At("name").File, Line: first.At("name").Line, Field: "name"},
			{Text: "second definition", File: second.At("name").File, Line: second.At("name").Line, Field: "name"},
		},
		Basis: finding.Declared,
		Fix:   finding.Fix{Summary: "give one of the two another name, or remove it"},
	}
}

// Overwritten is the finding that a parent applies two components of one name, of which
// the second counts.
func Overwritten(first, second model.Component) finding.Finding {
	f := Duplicate(first, second)
	f.Message = fmt.Sprintf("duplicate name %s: Argo CD applies this one, and not that at %s", second.Name, first.At("name"))
	return f
}

// ReadFile reads what one descriptor in a folder of descriptors declares, as far as it can be
// read.
func ReadFile(file, folder string, against Context) model.Component {
	return readFile(file, folder, against).component
}

func readFile(file, folder string, against Context) read {
	data, err := against.Tree.Read(file)
	if err != nil {
		return read{err: err}
	}
	v, err := yamldoc.ParseOne(file, data)
	if err != nil {
		return read{err: err}
	}
	place := Place{Domain: domainOf(folder, file), Disabled: path.Base(file) == DisabledFileName}
	c, findings, err := Decode(v, place, against)
	// The document starts at its first key; the file is what people look for.
	c.Position = finding.Position{File: file, Line: v.Position.Line}
	return read{component: c, findings: findings, err: err}
}
