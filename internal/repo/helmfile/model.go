package helmfile

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Result is what the state files say.
type Result struct {
	// Environments are sorted by name.
	Environments []Environment
	// Groups are the state files, those that run one after the other in that order.
	Groups []Group
	// Files are the state files that were read, sorted.
	Files []string
	// Unread are the environments that the state files name and that were not asked for,
	// sorted.
	Unread   []string
	Problems []Problem
}

// Environment is one environment with its releases, in the order written.
type Environment struct {
	Name     string
	Releases []Release
}

// Group is one state file, or several that run together.
type Group struct {
	// Name is that of the file without its ending: "22-control-plane".
	Name string
	// Rank orders groups; those of one rank run together.
	Rank     int
	Position finding.Position
	// Parent is the state file that includes this one, and Named the place where it does;
	// empty for one that is read first.
	Parent string
	Named  finding.Position
	// Base says that another state file takes this one as a base.
	Base bool
	// Withheld says that a release of it is not in the result: a selector leaves it out, or
	// its name is not known.
	Withheld bool
}

// Kind says what a Problem is about.
type Kind string

// The kinds of Problem.
const (
	// Template is something that could not be evaluated.
	Template Kind = "template"
	// Secret is an encrypted file, or a reference to a store of secrets.
	Secret Kind = "secret"
	// Hook runs commands around a release.
	Hook Kind = "hook"
	// Patch changes what a chart renders to.
	Patch Kind = "patch"
	// Missing is a file that is not there.
	Missing Kind = "file-missing"
	// Remote is a file or chart that would have to be fetched.
	Remote Kind = "remote"
	// Need is a requirement that no release answers.
	Need Kind = "needs"
	// Option is a setting without an equivalent.
	Option Kind = "option"
	// Invalid is a field that Helmfile would refuse.
	Invalid Kind = "invalid"
)

// Problem is something that is not in the result.
type Problem struct {
	Kind        Kind
	Environment string
	Release     string
	Message     string
	Hint        string
	// Mild is set where nothing of the order or the content is lost.
	Mild     bool
	Position finding.Position
}

// Release is one release in one environment.
type Release struct {
	Name, Namespace, KubeContext string
	// Group is an index into Result.Groups.
	Group int
	// Chart is as written, after evaluation. Dir is the folder of a local one,
	// relative to the root; Repository, ChartName and Version name one of a
	// repository.
	Chart, Dir                     string
	Repository, ChartName, Version string
	// Values are the layers, later ones win.
	Values []Layer
	// Set are Helm's --set pairs, SetString those of --set-string.
	Set, SetString map[string]string
	Needs          []Requirement
	// Installed is false for one that the environment does not install.
	Installed       bool
	Labels          map[string]string
	Timeout         time.Duration
	CreateNamespace bool
	SkipCRDs        bool
	Position        finding.Position
}

// Source is the chart of the release with its values. It is incomplete where files of
// values win over values that are written in place.
func (r *Release) Source() model.Source {
	src := model.Source{
		Kind: model.Chart, RepoURL: r.Repository, Name: r.ChartName, Version: r.Version, ReleaseName: r.Name,
		Values: map[string]any{}, Parameters: r.Set, StringParameters: r.SetString, SkipCRDs: r.SkipCRDs, Position: r.Position,
	}
	inPlace := false
	for _, l := range r.Values {
		switch {
		case l.File == "":
			inPlace = true
			src.Values = merge(src.Values, l.Data)
		case inPlace:
			src.Incomplete = "files of values win over others"
		default:
			src.ValueFiles = append(src.ValueFiles, model.ValueFile{Path: l.File, Here: true, Position: l.From})
		}
	}
	return src
}

// ID is how needs name the release: [context/]namespace/name.
func (r *Release) ID() string { return id(r.KubeContext, r.Namespace, r.Name) }

func id(context, namespace, name string) string {
	if context != "" {
		return context + "/" + namespace + "/" + name
	}
	return namespace + "/" + name
}

// Requirement is one entry of needs.
type Requirement struct {
	// Text is as written, after evaluation.
	Text string
	// Release is an index into the releases of the environment; -1 for one that
	// nothing defines.
	Release  int
	Position finding.Position
}

// Layer is one layer of values.
type Layer struct {
	// File is a file that is taken as it is, relative to the root; else Data are
	// the values, evaluated.
	File string
	Data Values
	// From is where the values are from.
	From finding.Position
}

// Values are values of the types of encoding/json, with integers kept.
type Values map[string]any

// MarshalJSON implements json.Marshaler: a number that is no integer stays one, also
// where it is a whole number.
func (v Values) MarshalJSON() ([]byte, error) {
	m, _ := exact(map[string]any(v)).(map[string]any)
	return json.Marshal(m)
}

func exact(value any) any {
	switch value := value.(type) {
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = exact(item)
		}
		return out
	case map[string]any:
		if value == nil {
			return value
		}
		out := make(map[string]any, len(value))
		for k, below := range value {
			out[k] = exact(below)
		}
		return out
	default:
		return value
	}
}
