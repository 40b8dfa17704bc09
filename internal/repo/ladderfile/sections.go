package ladderfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func count(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

func patterns(f *yamldoc.Fields, key string) []Pattern {
	var list []Pattern
	for _, item := range f.Texts(key) {
		list = append(list, Pattern{Path: item.Text, Position: item.Position})
	}
	return list
}

func (d *decoder) environments(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	for _, e := range f.Value.Entries {
		env := plan.Environment{Name: e.Key}
		folders := Folders{Position: e.Position}
		if strings.ContainsAny(e.Key, "/\\") || e.Key == "" || e.Key == "." || e.Key == ".." {
			f.Wrong(e.Key, "", "environment %q is not the name of a folder", e.Key)
			continue
		}
		if m := f.Map(e.Key); m != nil {
			for _, item := range m.Texts("values") {
				env.Values = append(env.Values, model.ValueFile{Path: item.Text, Optional: true, Position: item.Position})
			}
			env.KubeVersion = strings.TrimPrefix(m.Text("kubeVersion"), "v")
			if env.KubeVersion != "" && !plan.ValidKubeVersion(env.KubeVersion) {
				m.Wrong("kubeVersion", "write a version such as \"1.36\"", "%s.kubeVersion %q is no version of Kubernetes", m.Path, env.KubeVersion)
				env.KubeVersion = ""
			}
			for _, v := range m.Texts("apiVersions") {
				if !plan.ValidAPIVersion(v.Text) {
					m.Wrong("apiVersions", "write group/version or group/version/Kind", "%s.apiVersions names %q, which is no version of an API", m.Path, v.Text)
					continue
				}
				env.APIVersions = append(env.APIVersions, v.Text)
			}
			folders.Components = patterns(m, "components")
			folders.Overlay = m.Text("path")
			if to, ok := d.destination(m); ok {
				if d.file.ArgoCD.Destinations == nil {
					d.file.ArgoCD.Destinations = map[string]Destination{}
				}
				d.file.ArgoCD.Destinations[e.Key] = to
			}
			d.unknown(m)
		}
		d.file.Ladder.Environments = append(d.file.Ladder.Environments, env)
		d.file.Folders[e.Key] = folders
	}
	slices.SortFunc(d.file.Ladder.Environments, func(a, b plan.Environment) int { return strings.Compare(a.Name, b.Name) })
}

func (d *decoder) defaults(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	l := &d.file.Ladder
	if t := f.Duration("timeout"); t > 0 {
		l.Timeout = t
	}
	if m := f.Map("retry"); m != nil {
		written := descriptor.Retry(m)
		if written.Limit != nil {
			l.Retry.Limit = written.Limit
		}
		if written.Duration > 0 {
			l.Retry.Duration = written.Duration
		}
		if written.Factor > 0 {
			l.Retry.Factor = written.Factor
		}
		if written.MaxDuration > 0 {
			l.Retry.MaxDuration = written.MaxDuration
		}
		d.unknown(m)
		d.unknown(m.Map("backoff"))
	}
	if n, ok := f.Int("maxInFlight"); ok {
		if n < 1 {
			f.Wrong("maxInFlight", "", "defaults.maxInFlight %d is less than 1", n)
		} else {
			l.MaxInFlight = n
		}
	}
	d.unknown(f)
}

func (d *decoder) durations(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	if m := f.Map("types"); m != nil {
		for _, t := range model.Types() {
			if m.Has(string(t)) {
				if duration := m.Duration(string(t)); duration > 0 {
					d.file.Ladder.Durations[t] = duration
				}
			}
		}
		d.unknown(m)
	}
	if m := f.Map("components"); m != nil {
		d.file.Durations = make(map[string]time.Duration, len(m.Value.Entries))
		for _, e := range m.Value.Entries {
			if duration := m.Duration(e.Key); duration > 0 {
				d.file.Durations[e.Key] = duration
			}
		}
	}
	d.unknown(f)
}

func (d *decoder) preArgo(f *yamldoc.Fields) {
	for _, m := range f.Maps("preArgo") {
		d.file.PreArgo = append(d.file.PreArgo, PreArgo{Value: m.Value, Environments: m.Strings("environments")})
	}
}

func (d *decoder) lint(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	levels := []string{string(finding.Error), string(finding.Warning), string(finding.Info), "off"}
	d.file.Lint.Rules = f.TextMap("rules")
	rules := f.Map("rules")
	for rule, level := range d.file.Lint.Rules {
		// YAML 1.1 reads a bare off as false.
		if level == "false" {
			d.file.Lint.Rules[rule] = "off"
			continue
		}
		if !slices.Contains(levels, level) {
			rules.Wrong(rule, "use "+strings.Join(levels, ", "), "lint.rules.%s %q is not a severity", rule, level)
			delete(d.file.Lint.Rules, rule)
		}
	}
	for _, m := range f.Maps("suppress") {
		s := Suppression{Rule: m.Text("rule"), Component: m.Text("component"), Reason: m.Text("reason"), Position: m.Value.Position}
		d.unknown(m)
		if s.Rule == "" || s.Reason == "" {
			d.problems.Add(m.Path, m.Value.Position, "say which rule is suppressed and why", "%s needs rule and reason", m.Path)
			continue
		}
		d.file.Lint.Suppress = append(d.file.Lint.Suppress, s)
	}
	d.unknown(f)
}

// catalogue reads a list of patterns and entries; the fields of entries are read
// by the catalogue.
func (d *decoder) catalogue(f *yamldoc.Fields) {
	e, ok := f.Entry("catalogue")
	if !ok {
		return
	}
	if e.Value.Kind != yamldoc.List {
		f.Wrong("catalogue", "write a list of files and entries", "catalogue is %s, not a list", e.Value.Kind)
		return
	}
	for i, item := range e.Value.Items {
		switch item.Kind {
		case yamldoc.Scalar:
			d.file.Catalogue = append(d.file.Catalogue, Catalogued{Files: Pattern{Path: item.Text, Position: item.Position}})
		case yamldoc.Map:
			d.file.Catalogue = append(d.file.Catalogue, Catalogued{Entry: item})
		default:
			d.problems.Add(yamldoc.Join("catalogue", strconv.Itoa(i)), item.Position, "write the path of a file, or an entry with chart, version, source and repositories",
				"catalogue[%d] is %s, neither a file nor an entry", i, item.Kind)
		}
	}
}

func (d *decoder) parity(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	for _, m := range f.Maps("accept") {
		a := Acceptance{
			Component: m.Text("component"), Environments: m.Strings("environments"), Reason: m.Text("reason"), Position: m.Value.Position,
		}
		d.unknown(m)
		if a.Reason == "" {
			d.problems.Add(m.Path, m.Value.Position, "say why the environments differ", "%s needs a reason", m.Path)
			continue
		}
		d.file.Lint.Parity = append(d.file.Lint.Parity, a)
	}
	d.unknown(f)
}
