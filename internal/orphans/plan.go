package orphans

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Plan is what to do about orphans: a file that people read, change and hand
// back.
type Plan struct {
	FormatVersion string `json:"formatVersion"`
	Environment   string `json:"environment"`
	Cluster       string `json:"cluster"`
	Server        string `json:"server"`
	// Objects in the order in which they would be deleted.
	Objects []Planned `json:"objects"`
}

// Planned is one object of a plan.
type Planned struct {
	Action    Action `json:"action"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Data      bool   `json:"data,omitempty"`
	Component string `json:"component,omitempty"`
	Origin    string `json:"origin"`
	Reason    string `json:"reason"`
	Command   string `json:"command,omitempty"`
}

func (p Planned) resource() finding.Resource {
	return finding.Resource{Group: p.Group, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
}

// planHead explains a plan to whoever opens the file.
const planHead = `# What no component of the ladder renders, and what to do about it. This file
# changes nothing: ladder orphans --apply FILE deletes the objects whose action is
# delete, in this order, after it has looked again. For the other actions nothing
# is done: adopt waits for a component that renders the object, look for a
# decision. Change the actions as you see fit; delete is what you say it is.
# Objects marked data (namespaces, CRDs, claims, volumes) stay without
# --include-data.
`

// NewPlan is the plan that a report proposes.
func NewPlan(r Report, server string) Plan {
	p := Plan{FormatVersion: FormatVersion, Environment: r.Environment, Cluster: r.Cluster, Server: finding.Redact(server), Objects: []Planned{}}
	orphans := slices.Clone(r.Orphans)
	sortRemovals(orphans)
	for _, o := range orphans {
		p.Objects = append(p.Objects, Planned{
			Action: o.Action, Group: o.Resource.Group, Version: o.Version, Kind: o.Resource.Kind, Namespace: o.Resource.Namespace,
			Name: o.Resource.Name, UID: o.UID, Data: o.Data, Component: o.Component, Origin: o.Origin.String(), Reason: o.Reason, Command: o.Command,
		})
	}
	return p
}

// YAML is the text of a plan.
func (p Plan) YAML() ([]byte, error) {
	text, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return append([]byte(planHead), text...), nil
}

// maxPlan is the size of the greatest plan that is read, in bytes.
const maxPlan = 32 << 20

// ReadPlan reads a plan from a file.
func ReadPlan(file string) (Plan, error) {
	var p Plan
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxPlan {
		err = fmt.Errorf("%s is larger than %d MiB", file, maxPlan>>20)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	if err := yaml.UnmarshalStrict(bytes.TrimSpace(text), &p); err != nil {
		return Plan{}, fmt.Errorf("read the plan %s: %w", file, err)
	}
	if p.FormatVersion != FormatVersion {
		return Plan{}, fmt.Errorf("%s is no plan of orphans: format version %q, not %q", file, p.FormatVersion, FormatVersion)
	}
	for i, o := range p.Objects {
		if o.Action != Delete && o.Action != Adopt && o.Action != Look {
			return Plan{}, fmt.Errorf("%s: objects[%d]: action %q is none of delete, adopt, look", file, i, o.Action)
		}
		if o.Kind == "" || o.Name == "" || o.UID == "" {
			return Plan{}, fmt.Errorf("%s: objects[%d] lacks its kind, name or uid", file, i)
		}
	}
	return p, nil
}

// Skipped is an object that stays although a plan says to delete it.
type Skipped struct {
	Resource finding.Resource `json:"resource"`
	Reason   string           `json:"reason"`
}

// Choose picks what a plan deletes from what was found just now. What is no orphan
// any more, is another object by now, holds what components render, or is data,
// stays.
func Choose(p Plan, now Report, includeData bool) (chosen []Orphan, stay []Skipped) {
	found := map[finding.Resource]Orphan{}
	for _, o := range now.Orphans {
		found[o.Resource] = o
	}
	for _, planned := range p.Objects {
		if planned.Action != Delete {
			continue
		}
		o, ok := found[planned.resource()]
		reason := ""
		switch {
		case !ok:
			reason = "it is gone, or no orphan any more"
		case o.UID != planned.UID:
			reason = "it was made anew since"
		case o.Holds:
			reason = "components render objects that would be deleted with it"
		case o.Data && !includeData:
			reason = "it is data: --include-data deletes it"
		}
		if reason != "" {
			stay = append(stay, Skipped{planned.resource(), reason})
			continue
		}
		delete(found, planned.resource()) // once
		chosen = append(chosen, o)
	}
	sortRemovals(chosen)
	slices.SortFunc(stay, func(a, b Skipped) int { return strings.Compare(a.Resource.String(), b.Resource.String()) })
	return chosen, stay
}
