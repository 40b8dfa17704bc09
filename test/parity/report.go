package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/argo"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/load"
	"github.com/rollout-ladder/ladder/internal/manifest"
)

// report counts what is equal, and lists what is not.
type report struct {
	applications, objects count
	// assumed are Applications whose parameters are not in the repository; elsewhere
	// those with a source in another one; unrendered those that neither side can render.
	assumed, elsewhere, unrendered int
	differences                    []difference

	// read are the names of all environments; others are what Argo CD alone has.
	read   map[string]bool
	others []difference
}

type count struct{ equal, different int }

// difference is one thing that Ladder reads otherwise.
type difference struct {
	environment, application, what string
}

func (d difference) String() string {
	return fmt.Sprintf("%s %s: %s", d.environment, d.application, d.what)
}

// add compares one environment.
func (r *report) add(e *load.Result, read result) {
	if r.read == nil {
		r.read = map[string]bool{}
	}
	environment := e.Platform.Environment
	theirs := map[string][]application{}
	for _, a := range read.Applications {
		theirs[a.Name] = append(theirs[a.Name], a)
	}
	components := map[string]*component.Component{}
	for i := range e.Platform.Components {
		c := &e.Platform.Components[i]
		components[c.Name] = c
	}
	ours := map[string]bool{}
	for _, a := range e.Argo.Applications {
		c := components[a.Component]
		ours[a.Name], r.read[a.Name] = true, true
		if c != nil && c.Assumed {
			r.assumed++
			continue
		}
		same := theirs[a.Name]
		if len(same) == 0 {
			r.applications.different++
			r.differences = append(r.differences, difference{environment, a.Name, "only Ladder has this Application (" + a.Position.String() + ")"})
			continue
		}
		// Of several of one name the one that fits best is meant.
		other := slices.MaxFunc(same, func(x, y application) int { return cmp.Compare(fits(a, x), fits(a, y)) })
		r.compare(environment, e, a, c, other)
	}
	for _, a := range read.Applications {
		if ours[a.Name] || strings.HasPrefix(a.Name, madeUp) {
			if a.Failure != "" && strings.HasPrefix(a.Name, madeUp) {
				r.others = append(r.others, difference{environment, a.Name, "Argo CD cannot render the folder: " + first(a.Failure)})
			}
			continue
		}
		r.others = append(r.others, difference{environment, a.Name, fmt.Sprintf("only Argo CD has this Application (set %q, parent %q)", a.Set, a.Parent)})
	}
	for _, f := range read.Failures {
		r.differences = append(r.differences, difference{environment, f.Name, "Argo CD cannot run this ApplicationSet: " + first(f.Reason)})
	}
}

// finish counts what only Argo CD has: an ApplicationSet makes the Applications of all
// environments, of which Ladder reads each on its own.
func (r *report) finish() {
	told := map[string]bool{}
	for _, d := range r.others {
		if !r.read[d.application] && !told[d.application] {
			told[d.application] = true
			r.applications.different++
			r.differences = append(r.differences, d)
		}
	}
	slices.SortStableFunc(r.differences, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.application, b.application))
	})
}

// fits counts in what an Application is the same on both sides.
func fits(a argo.Application, other application) int {
	n := 0
	for _, same := range []bool{a.Parent == other.Parent, a.Set == other.Set, a.Destination == destination(other)} {
		if same {
			n++
		}
	}
	return n
}

func destination(a application) argo.Destination {
	d, _ := a.Spec["destination"].(map[string]any)
	text := func(name string) string { value, _ := d[name].(string); return value }
	return argo.Destination{Server: text("server"), Name: text("name"), Namespace: text("namespace")}
}

func (r *report) compare(environment string, e *load.Result, a argo.Application, c *component.Component, other application) {
	differ := func(format string, args ...any) {
		r.differences = append(r.differences, difference{environment, a.Name, fmt.Sprintf(format, args...)})
	}
	before := len(r.differences)
	r.fields(a, other, differ)
	if c != nil {
		sources(c, other, differ)
	}
	if len(r.differences) > before {
		r.applications.different++
	} else {
		r.applications.equal++
	}
	objects, rendered := e.Objects[a.Component]
	switch {
	case c == nil || !c.Enabled:
	case other.Elsewhere:
		r.elsewhere++
	case other.Failure != "" && !rendered:
		r.unrendered++
	case other.Failure != "":
		r.objects.different += len(objects)
		differ("Argo CD cannot render it, Ladder does: %s", first(other.Failure))
	case !rendered:
		r.objects.different += len(other.Objects)
		differ("Ladder cannot render it, Argo CD does: %s", reason(e, a.Component))
	default:
		r.compareObjects(c, objects, other, differ)
	}
}

// fields compares what an Application says.
func (r *report) fields(a argo.Application, other application, differ func(string, ...any)) {
	if a.Set != other.Set {
		differ("set %q, Argo CD: %q", a.Set, other.Set)
	}
	if parent := strings.TrimPrefix(other.Parent, madeUp); parent == other.Parent && a.Parent != other.Parent {
		differ("parent %q, Argo CD: %q", a.Parent, other.Parent)
	}
	if theirs := destination(other); theirs != a.Destination {
		differ("destination %+v, Argo CD: %+v", a.Destination, theirs)
	}
	if theirs, _ := other.Spec["project"].(string); cmp.Or(theirs, "default") != a.Project {
		differ("project %q, Argo CD: %q", a.Project, theirs)
	}
}

// sources compares how its sources are rendered.
func sources(c *component.Component, other application, differ func(string, ...any)) {
	if c.AppOfApps || other.Failure != "" {
		return
	}
	kinds := map[component.SourceKind]string{component.Chart: "Helm", component.Kustomize: "Kustomize", component.Manifests: "Directory", component.Plugin: "Plugin"}
	var ours, theirs []string
	for _, s := range c.Sources {
		if s.Path != "" {
			ours = append(ours, kinds[s.Kind])
		}
	}
	for _, kind := range other.Types {
		if kind != "" {
			theirs = append(theirs, kind)
		}
	}
	if !slices.Equal(ours, theirs) {
		differ("sources %q, Argo CD: %q", ours, theirs)
	}
}

// compareObjects compares what an Application applies.
func (r *report) compareObjects(c *component.Component, ours []manifest.Object, other application, differ func(string, ...any)) {
	mine := map[string]map[string]any{}
	for _, o := range ours {
		mine[identity(o.Object, c.Namespace)] = o.Object
	}
	for _, o := range other.Objects {
		if c.AppOfApps && isArgoCDs(o) {
			continue
		}
		if !named(o) {
			continue // nobody can apply it
		}
		id := identity(o, c.Namespace)
		own, ok := mine[id]
		delete(mine, id)
		switch {
		case !ok:
			r.objects.different++
			differ("only Argo CD has %s", id)
		case !reflect.DeepEqual(plain(own, c.Namespace), plain(o, c.Namespace)):
			r.objects.different++
			differ("%s differs: %s", id, where("", plain(own, c.Namespace), plain(o, c.Namespace)))
		default:
			r.objects.equal++
		}
	}
	for id := range mine {
		r.objects.different++
		differ("only Ladder has %s", id)
	}
}

func named(o map[string]any) bool {
	meta, _ := o["metadata"].(map[string]any)
	return meta["name"] != nil || meta["generateName"] != nil
}

func isArgoCDs(o map[string]any) bool {
	version, _ := o["apiVersion"].(string)
	return strings.HasPrefix(version, "argoproj.io/") && slices.Contains([]any{"Application", "ApplicationSet", "AppProject"}, o["kind"])
}

// identity names an object. The namespace of the destination is that of an object that
// has none.
func identity(o map[string]any, namespace string) string {
	version, _ := o["apiVersion"].(string)
	group, _, ok := strings.Cut(version, "/")
	if !ok {
		group = ""
	}
	meta, _ := o["metadata"].(map[string]any)
	in, _ := meta["namespace"].(string)
	if in == namespace {
		in = ""
	}
	name := meta["name"]
	if name == nil {
		name = meta["generateName"]
	}
	return fmt.Sprintf("%s/%v %s/%v", group, o["kind"], in, name)
}

// plain is an object as it is compared: numbers as JSON has them, without what both
// sides may write or leave out.
func plain(o map[string]any, namespace string) map[string]any {
	text, err := json.Marshal(o)
	if err != nil {
		return o
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return o
	}
	if meta, ok := out["metadata"].(map[string]any); ok {
		if meta["namespace"] == namespace || meta["namespace"] == "" {
			delete(meta, "namespace")
		}
		delete(meta, "creationTimestamp")
	}
	without(out)
	return out
}

// without removes what is the same as nothing: null, and empty maps and lists.
func without(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			without(child)
			if isNothing(child) {
				delete(v, key)
			}
		}
	case []any:
		for _, child := range v {
			without(child)
		}
	}
}

func isNothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// where is the first place at which two values differ.
func where(at string, a, b any) string {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			keys := map[string]bool{}
			for k := range x {
				keys[k] = true
			}
			for k := range y {
				keys[k] = true
			}
			var sorted []string
			for k := range keys {
				sorted = append(sorted, k)
			}
			slices.Sort(sorted)
			for _, k := range sorted {
				if !reflect.DeepEqual(x[k], y[k]) {
					return where(at+"."+k, x[k], y[k])
				}
			}
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if !reflect.DeepEqual(x[i], y[i]) {
					return where(fmt.Sprintf("%s[%d]", at, i), x[i], y[i])
				}
			}
		}
	}
	return fmt.Sprintf("%s is %.80v, Argo CD: %.80v", at, a, b)
}

// first is the first line of a text, of its last 300 characters.
func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > 300 {
		line = line[:300] + "…"
	}
	return line
}

// reason is why Ladder could not render a component.
func reason(e *load.Result, name string) string {
	for _, u := range e.Unrendered {
		if u.Component == name {
			return first(u.Reason)
		}
	}
	return "no reason told"
}
