package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// The labels by which an Application may say what it stands for.
const (
	LabelComponent   = "ladder.rollout-ladder.dev/component"
	labelEnvironment = "environment"
)

// Discovery is which Application stands for which component.
type Discovery struct {
	Applications map[string]status.Ref
	// Unclaimed are Applications of the environment that stand for no component,
	// as their label says, sorted: components that the repository lacks, or parents.
	Unclaimed []status.Ref
}

// DiscoverError says for which components no Application, or more than one, was
// found.
type DiscoverError struct {
	Namespace, Environment string
	Missing                []MissingError
	Ambiguous              []AmbiguousError
}

// MissingError is a component without an Application.
type MissingError struct {
	Component string
	// Similar is an Application whose name is near; empty where there is none.
	Similar string
}

// AmbiguousError is a component that several Applications could stand for.
type AmbiguousError struct {
	Component    string
	Applications []status.Ref
}

// Error implements error.
func (e MissingError) Error() string {
	if e.Similar != "" {
		return fmt.Sprintf("component %s has no Application (there is %s)", e.Component, e.Similar)
	}
	return fmt.Sprintf("component %s has no Application", e.Component)
}

// Error implements error.
func (e AmbiguousError) Error() string {
	names := make([]string, 0, len(e.Applications))
	for _, a := range e.Applications {
		names = append(names, a.String())
	}
	return fmt.Sprintf("component %s has several Applications: %s", e.Component, strings.Join(names, ", "))
}

// Error implements error: what is missing, and the way out.
func (e *DiscoverError) Error() string {
	const few = 10
	lines := make([]string, 0, few+2)
	for i, m := range e.Missing {
		if i == few {
			lines = append(lines, fmt.Sprintf("and %d more have none", len(e.Missing)-few))
			break
		}
		lines = append(lines, m.Error())
	}
	for _, a := range e.Ambiguous {
		lines = append(lines, a.Error())
	}
	return fmt.Sprintf("%s in namespace %s: apply what `ladder generate` writes, name the Application after its component (or %s-<component>), or give it the label %s",
		strings.Join(lines, "; "), e.Namespace, e.Environment, LabelComponent)
}

// Discover finds the Applications of components in a namespace of Argo CD: by the
// label LabelComponent, by name (the component's, alone or with the environment
// before or after it), else the only one whose source is the component's folder.
// An Application whose label environment names another environment is not looked
// at. What is disabled or applied before Argo CD needs none. Where one is missing
// the error is a *DiscoverError, with what was found all the same.
func Discover(ctx context.Context, config *rest.Config, namespace string, components []model.Component) (Discovery, error) {
	connection := rest.CopyConfig(config)
	connection.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(connection)
	if err != nil {
		return Discovery{}, fmt.Errorf("connect: %w", err)
	}
	if namespace == "" {
		namespace = status.DefaultNamespace
	}
	list, err := client.Resource(status.Applications()).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Discovery{}, fmt.Errorf("list Applications of namespace %s: %w", namespace, err)
	}
	found := make([]*status.Application, 0, len(list.Items))
	for i := range list.Items {
		a, err := status.Parse(&list.Items[i])
		if err != nil {
			return Discovery{}, err
		}
		found = append(found, a)
	}
	return match(namespace, found, components)
}

// match finds the Applications of components among those that are there.
func match(namespace string, found []*status.Application, components []model.Component) (Discovery, error) {
	out := Discovery{Applications: map[string]status.Ref{}}
	problem := &DiscoverError{Namespace: namespace}
	claimed := map[status.Ref]bool{}
	environment := ""
	for i := range components {
		c := &components[i]
		if !c.Enabled || c.PreArgo {
			continue
		}
		environment = c.Environment
		refs := candidates(found, c)
		switch len(refs) {
		case 0:
			problem.Missing = append(problem.Missing, MissingError{Component: c.Name, Similar: similar(found, c)})
		case 1:
			out.Applications[c.Name] = refs[0]
			claimed[refs[0]] = true
		default:
			problem.Ambiguous = append(problem.Ambiguous, AmbiguousError{Component: c.Name, Applications: refs})
		}
	}
	for _, a := range found {
		if e := a.Labels[labelEnvironment]; !claimed[a.Ref] && e != "" && e == environment {
			out.Unclaimed = append(out.Unclaimed, a.Ref)
		}
	}
	sortRefs(out.Unclaimed)
	problem.Environment = environment
	slices.SortFunc(problem.Missing, func(a, b MissingError) int { return strings.Compare(a.Component, b.Component) })
	slices.SortFunc(problem.Ambiguous, func(a, b AmbiguousError) int { return strings.Compare(a.Component, b.Component) })
	if len(problem.Missing)+len(problem.Ambiguous) > 0 {
		return out, problem
	}
	return out, nil
}

// candidates are the Applications that may stand for a component, by the first
// way that finds any.
func candidates(found []*status.Application, c *model.Component) []status.Ref {
	ways := []func(a *status.Application) bool{
		func(a *status.Application) bool { return a.Labels[LabelComponent] == c.Name },
		func(a *status.Application) bool { return a.Ref.Name == c.Name },
		func(a *status.Application) bool {
			return c.Environment != "" && (a.Ref.Name == c.Environment+"-"+c.Name || a.Ref.Name == c.Name+"-"+c.Environment)
		},
		func(a *status.Application) bool { return hasSource(a, c) },
	}
	for _, way := range ways {
		var refs []status.Ref
		for _, a := range found {
			if e := a.Labels[labelEnvironment]; e != "" && c.Environment != "" && e != c.Environment {
				continue
			}
			if way(a) {
				refs = append(refs, a.Ref)
			}
		}
		if len(refs) > 0 {
			sortRefs(refs)
			return refs
		}
	}
	return nil
}

// hasSource reports whether a source of an Application is a folder of a component.
func hasSource(a *status.Application, c *model.Component) bool {
	for _, source := range a.AllSources() {
		at, _ := source["path"].(string)
		if at == "" {
			continue
		}
		for _, s := range c.Sources {
			if s.Path != "" && s.RepoURL == "" && path.Clean(at) == path.Clean(s.Path) && len(c.Sources) == 1 {
				return true
			}
		}
	}
	return false
}

// similar is an Application whose name contains that of a component, or is
// contained in it.
func similar(found []*status.Application, c *model.Component) string {
	for _, a := range found {
		if strings.Contains(a.Ref.Name, c.Name) || len(a.Ref.Name) > 3 && strings.Contains(c.Name, a.Ref.Name) {
			return a.Ref.Name
		}
	}
	return ""
}

func sortRefs(refs []status.Ref) {
	slices.SortFunc(refs, func(a, b status.Ref) int { return strings.Compare(a.String(), b.String()) })
}
