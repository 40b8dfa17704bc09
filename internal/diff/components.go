package diff

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

func compareText(a, b string) int { return strings.Compare(a, b) }

// components compares the components themselves.
func components(from, to Side) ComponentChange {
	before, after := from.byName(), to.byName()
	fromSteps, toSteps := from.steps(), to.steps()
	one, other := view{}, view{}
	if from.Environment != to.Environment {
		one.environment, other.environment = from.Environment, to.Environment
	}
	var out ComponentChange
	for _, c := range from.Components {
		if after[c.Name] == nil {
			out.Removed = append(out.Removed, from.component(&c, fromSteps))
		}
	}
	for _, c := range to.Components {
		old := before[c.Name]
		if old == nil {
			out.Added = append(out.Added, to.component(&c, toSteps))
			continue
		}
		if x, y := from.place(old, fromSteps), to.place(&c, toSteps); !x.equal(y) {
			out.Moved = append(out.Moved, Moved{Name: c.Name, From: x, To: y})
		}
		if fields := diff(one.of(old), other.of(&c)); len(fields) > 0 {
			out.Changed = append(out.Changed, Reworked{Name: c.Name, File: c.Position.File, Fields: fields})
		}
	}
	byName := func(a, b Component) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(out.Added, byName)
	slices.SortFunc(out.Removed, byName)
	slices.SortFunc(out.Moved, func(a, b Moved) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Changed, func(a, b Reworked) int { return strings.Compare(a.Name, b.Name) })
	out.Renamed = list(renamed(from, to, out.Removed, out.Added))
	out.Added, out.Removed = list(out.Added), list(out.Removed)
	out.Moved, out.Changed = list(out.Moved), list(out.Changed)
	return out
}

func (s Side) component(c *model.Component, steps map[string]int) Component {
	return Component{
		Name: c.Name, Place: s.place(c, steps), Type: string(c.Type), Domain: c.Domain, Namespace: c.Namespace,
		Enabled: c.Enabled, File: c.Position.File,
	}
}

func (s Side) place(c *model.Component, steps map[string]int) Place {
	p := Place{Order: c.Order(), Set: c.Set, Parents: list(c.Parents)}
	if i, ok := steps[c.Name]; ok {
		p.Step = s.Plan.Steps[i].Label
	}
	return p
}

func (p Place) equal(q Place) bool {
	return p.Order == q.Order && p.Step == q.Step && p.Set == q.Set && slices.Equal(p.Parents, q.Parents)
}

// renamed pairs components that are the same under another name: defined by the
// same file, else rendered to the same objects. A file that defines several
// pairs nothing.
func renamed(from, to Side, removed, added []Component) []Renamed {
	var out []Renamed
	taken := map[string]bool{}
	pair := func(by string, key func(Side, Component) string) {
		old, fresh := map[string][]string{}, map[string][]string{}
		for _, c := range removed {
			if k := key(from, c); k != "" && !taken["-"+c.Name] {
				old[k] = append(old[k], c.Name)
			}
		}
		for _, c := range added {
			if k := key(to, c); k != "" && !taken["+"+c.Name] {
				fresh[k] = append(fresh[k], c.Name)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(old)) {
			if len(old[k]) == 1 && len(fresh[k]) == 1 {
				out = append(out, Renamed{From: old[k][0], To: fresh[k][0], By: by})
				taken["-"+old[k][0]], taken["+"+fresh[k][0]] = true, true
			}
		}
	}
	pair("file", func(_ Side, c Component) string { return c.File })
	pair("objects", func(s Side, c Component) string { return identities(s.Objects[c.Name]) })
	slices.SortFunc(out, func(a, b Renamed) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return out
}

// identities names all objects of a component; "" for none.
func identities(objects []manifest.Object) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.Resource().String()
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// view turns a component into a document that can be compared: what it says, its
// name and place aside.
type view struct {
	// environment is a part of paths that differs because the environments do;
	// empty where they do not.
	environment string
}

func (v view) of(c *model.Component) map[string]any {
	smoke, sources := map[string]any{}, map[string]any{}
	for i, s := range c.Sources {
		sources[strconv.Itoa(i)] = v.source(s) // they have no names
	}
	for _, s := range c.Smoke {
		smoke[s.String()] = check(s)
	}
	if c.HelmTest {
		smoke["helmTest"] = true
	}
	var health, ignored []any
	for _, h := range c.Health {
		health = append(health, full(map[string]any{"group": h.Group, "kind": h.Kind, "cel": h.CEL, "lua": h.Lua}))
	}
	for _, d := range c.IgnoreDifferences {
		ignored = append(ignored, full(map[string]any{
			"group": d.Group, "kind": d.Kind, "name": d.Name, "namespace": d.Namespace, "jsonPointers": texts(d.JSONPointers),
			"jqPathExpressions": texts(d.JQPathExpressions), "managedFieldsManagers": texts(d.ManagedFieldsManagers),
		}))
	}
	out := full(map[string]any{
		"domain": c.Domain, "project": c.Project, "namespace": c.Namespace, "componentType": string(c.Type),
		"timeout": duration(c.Timeout), "gate": c.Gate, "syncOptions": texts(c.SyncOptions),
		"requires": requirements(c.Requires), "validates": requirements(c.Validates), "retry": retry(c.Retry),
		"preArgo": c.PreArgo, "sources": sources, "smoke": smoke, "health": health, "ignoreDifferences": ignored,
	})
	out["enabled"] = c.Enabled
	return out
}

// full leaves out what is not written.
func full(fields map[string]any) map[string]any {
	maps.DeleteFunc(fields, func(_ string, value any) bool {
		switch value := value.(type) {
		case string:
			return value == ""
		case bool:
			return !value
		case int64:
			return value == 0
		case float64:
			return value == 0
		case []any:
			return len(value) == 0
		case map[string]any:
			return len(value) == 0
		default:
			return value == nil
		}
	})
	return fields
}

func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func retry(r model.Retry) map[string]any {
	out := full(map[string]any{"factor": r.Factor, "duration": duration(r.Duration), "maxDuration": duration(r.MaxDuration)})
	if r.Limit != nil {
		out["limit"] = int64(*r.Limit)
	}
	return out
}

func (v view) source(s model.Source) map[string]any {
	var layers []any
	for _, f := range s.ValueFiles {
		layers = append(layers, v.path(f.Path))
	}
	return full(map[string]any{
		"kind": string(s.Kind), "path": v.path(s.Path), "repoURL": s.RepoURL, "name": s.Name, "version": s.Version,
		"releaseName": s.ReleaseName, "namespace": s.Namespace, "kubeVersion": s.KubeVersion, "include": s.Include,
		"exclude": s.Exclude, "refused": s.Refused, "incomplete": s.Incomplete, "skipCrds": s.SkipCRDs,
		"valueFiles": layers, "apiVersions": texts(s.APIVersions), "values": maps.Clone(s.Values),
		"parameters": nested(s.Parameters), "stringParameters": nested(s.StringParameters), "fileParameters": nested(s.FileParameters),
		"jsonnet": jsonnet(s.Jsonnet),
	})
}

// jsonnet is what the Jsonnet of a source is given.
func jsonnet(j *model.Jsonnet) map[string]any {
	if j == nil {
		return nil
	}
	variables := func(all []model.JsonnetVariable) map[string]any {
		out := map[string]any{}
		for _, v := range all {
			out[v.Name] = v.Value
			if v.Code {
				out[v.Name] = "code " + v.Value
			}
		}
		return out
	}
	return full(map[string]any{"extVars": variables(j.ExtVars), "tlas": variables(j.TLAs), "libs": texts(j.Libs)})
}

// path prints a path without the name of the environment.
func (v view) path(file string) string {
	if v.environment == "" || file == "" {
		return file
	}
	parts := strings.Split(file, "/")
	for i, part := range parts {
		if stem, ext, _ := strings.Cut(part, "."); stem == v.environment {
			parts[i] = "{{environment}}"
			if ext != "" {
				parts[i] += "." + ext
			}
		}
	}
	return strings.Join(parts, "/")
}

func nested(in map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		out[k] = v
	}
	return out
}

func check(c model.Check) map[string]any {
	conditions := map[string]any{}
	for key, want := range c.Conditions {
		conditions[key] = want
	}
	return full(map[string]any{
		"conditions": conditions, "holds": strings.Join(c.Keys, ", "), "issuedBy": texts(c.IssuedBy), "subject": c.Subject,
		"status": int64(c.Status), "expression": c.Expression, "timeout": duration(c.Timeout),
	})
}

func requirements(in []model.Requirement) []any {
	var out []any
	for _, r := range in {
		out = append(out, r.Text)
	}
	return out
}

func texts(in []string) []any {
	var out []any
	for _, s := range in {
		out = append(out, s)
	}
	return out
}
