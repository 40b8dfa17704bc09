package descriptor

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The rules of the findings that reading a descriptor can make.
const (
	RulePhase     = "phase-not-numeric"
	RuleDuplicate = "duplicate-name"
	RuleInvalid   = "invalid-field"
	RuleUnknown   = "unknown-field"
)

// Context is what a descriptor is read against.
type Context struct {
	Tree        *repofs.Tree
	Environment string
	Bands       []plan.Band
	// Layers are the templates of the environment's value files.
	Layers []model.ValueFile
	// PreArgo reads an entry of preArgo: "path" says what lies there.
	PreArgo bool
	// Templates is set where ApplicationSets that somebody wrote may read fields of their own.
	Templates bool
}

// misnamed are older and near names of fields, spelled as spelling has them, and what
// they are called.
var misnamed = map[string]string{
	"phase": "rolloutPhase", "maxupdate": "maxUpdate of a step in ladder.yaml", "healthcheck": "health", "healthchecks": "health",
	"depends": "requires", "dependson": "requires",
}

// spelling is a key without what people spell differently: case, '-' and '_'.
func spelling(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// meant is the field that a key which is not known most likely means, "" where it is a
// field of others: another spelling, an older or near name, or one letter away.
func meant(key string, known []string) string {
	if now, ok := misnamed[spelling(key)]; ok {
		return now
	}
	if i := slices.IndexFunc(known, func(k string) bool { return spelling(k) == spelling(key) }); i >= 0 {
		return known[i]
	}
	if near := yamldoc.Nearest(key, known); near != "" && len(key) > 4 && yamldoc.Distance(key, near) == 1 {
		return near
	}
	return ""
}

// decoder reads one descriptor.
type decoder struct {
	ctx      Context
	c        model.Component
	problems yamldoc.Problems
	findings []finding.Finding
	fatal    []error
	place    Place
}

// Place is what the place of a descriptor says about the component.
type Place struct {
	// Domain is the folder below components/ that names the domain; it may be
	// empty.
	Domain string
	// Disabled is set by the file name component.disabled.yaml.
	Disabled bool
}

// Decode reads one descriptor.
func Decode(v *yamldoc.Value, place Place, ctx Context) (model.Component, []finding.Finding, error) {
	d := &decoder{ctx: ctx, place: place}
	d.c = model.Component{
		Environment: ctx.Environment,
		Phase:       model.NoPhase,
		PreArgo:     ctx.PreArgo,
		Enabled:     true,
		Position:    v.Position,
		Fields:      make(map[string]finding.Position, v.Size()),
	}
	if v.Kind != yamldoc.Map {
		return d.c, nil, &repofs.InputError{Position: v.Position, Message: fmt.Sprintf("the descriptor is %s, not a map", v.Kind), Hint: "see ladder schema component"}
	}
	v.Walk(func(field string, at finding.Position) { d.c.Fields[field] = at })
	f := yamldoc.Read(v, "", &d.problems)
	d.decode(f)
	for _, e := range f.Unknown() {
		if d.c.Unknown == nil {
			d.c.Unknown = map[string]any{}
		}
		d.c.Unknown[e.Key] = e.Value.Any()
		if slices.Contains(olderRequires, e.Key) {
			if !ctx.PreArgo && !ofOthers(e) {
				d.shapeless(e)
			}
			continue
		}
		// Fields of others are welcome here; only what is all but the name of
		// one of ours is worth a word, what ladders of before were written with, and
		// what means the source of the component.
		if why, fix := d.unread(e); why != "" && !ctx.PreArgo && !ctx.Templates {
			d.report(RuleUnknown, e.Position, fmt.Sprintf("%s is not read: %s; %s", e.Key, why, fix), fix)
			d.findings[len(d.findings)-1].Severity = finding.Warning
		} else if now := meant(e.Key, f.Known()); now != "" && !ctx.PreArgo {
			d.unknownField(e, e.Key, now)
		}
	}
	for _, p := range d.problems.List {
		message := p.Message
		if p.Hint != "" {
			message += "; " + p.Hint
		}
		d.report(RuleInvalid, p.Position, message, p.Hint)
	}
	return d.c, d.findings, errors.Join(d.fatal...)
}

// unknown reports the fields of a nested map that nothing asked for.
func (d *decoder) unknown(fields ...*yamldoc.Fields) {
	for _, f := range fields {
		for _, e := range f.Unknown() {
			d.unknownField(e, yamldoc.Join(f.Path, e.Key), yamldoc.Nearest(e.Key, f.Known()))
		}
	}
}

func (d *decoder) unknownField(e yamldoc.Entry, path, near string) {
	message, fix := path+" is not a field of the descriptor", ""
	if near != "" {
		fix = fmt.Sprintf("did you mean %s?", near)
		message += "; " + fix
	}
	d.report(RuleUnknown, e.Position, message, fix)
	d.findings[len(d.findings)-1].Severity = finding.Warning
}

func (d *decoder) report(rule string, at finding.Position, message, fix string) {
	d.findings = append(d.findings, finding.Finding{
		Rule: rule, Severity: finding.Error, Scope: finding.Rule,
		Environment: d.ctx.Environment, Component: d.c.Name,
		Message: message, Position: at, Basis: finding.Declared,
		Fix: finding.Fix{Summary: fix},
	})
}

func (d *decoder) refuse(at finding.Position, hint, format string, args ...any) {
	d.fatal = append(d.fatal, &repofs.InputError{Position: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (d *decoder) decode(f *yamldoc.Fields) {
	c := &d.c
	c.Name = f.Text("name")
	switch {
	case c.Name == "":
		d.refuse(c.Position, "add name: <name>", "the descriptor has no name")
	case !IsName(c.Name):
		d.refuse(c.At("name"), "use lower-case letters, digits, '-' and '.', at most 253 of them", "name %q is not a valid name of an Application", c.Name)
	}
	c.Project = f.Text("project")
	if c.Project == "" {
		c.Project = "default"
	}
	c.Namespace = f.Text("namespace")
	c.Enabled = f.Bool("enabled", true) && !d.place.Disabled
	c.Gate = f.Text("gate")
	c.Labels = f.TextMap("labels")
	d.phase(f)
	d.domain(f)

	c.Requires = d.requirements("requires", d.required(f), true)
	for _, older := range olderRequires {
		if required, ok := names(f.Value.At(older)); ok {
			f.Has(older)
			c.Requires = append(c.Requires, d.requirements(older, required, true)...)
		}
	}
	c.Validates = d.requirements("validates", f.Texts("validates"), false)
	c.Smoke = d.smoke(f)
	smoke := f.Has("smoke") && !c.HelmTest
	d.sources(f)
	c.SyncOptions = d.syncOptions(f)
	if wave, ok := f.Int("syncWave"); ok {
		c.Waves = []int{wave}
	}
	ignored := f.Maps("ignoreDifferences")
	c.IgnoreDifferences = IgnoreDifferences(ignored)
	d.unknown(ignored...)
	c.Timeout = f.Duration("timeout")
	retry := f.Map("retry")
	c.Retry = Retry(retry)
	d.unknown(retry, retry.Map("backoff"))
	c.Health = d.health(f)
	d.componentType(f)
	// A smoke that has neither is read, and told to test nothing.
	_, declared := c.Fields["componentType"]
	needsSource := c.Enabled && (c.Type != model.Smoke || !smoke && (!declared || d.ctx.PreArgo))
	if len(c.Sources) == 0 && len(d.fatal) == 0 && needsSource {
		d.refuse(c.Position, "add chart, kustomize or manifests, or put them beside the descriptor; only a smoke with checks needs none", "component %s has no source", c.Name)
	}
	if d.ctx.PreArgo {
		f.Has("environments")
	}
}

// IsName reports whether an Application or an AppProject can have a name. Source: RFC 1123 subdomains, k8s.io/apimachinery validation.
func IsName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
		for _, r := range part {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
				return false
			}
		}
	}
	return true
}

// phase reads rolloutPhase, or the older wave.
func (d *decoder) phase(f *yamldoc.Fields) {
	e, ok := f.Entry("rolloutPhase")
	if old, older := f.Entry("wave"); older && !ok {
		e, ok = old, true
		d.c.Fields["rolloutPhase"] = old.Position
	}
	if !ok {
		return
	}
	if e.Value.Kind == yamldoc.Scalar {
		p, err := model.ParsePhase(e.Value.Text)
		if err == nil {
			d.c.Phase = p
			return
		}
	}
	written := e.Value.Text
	if e.Value.Kind != yamldoc.Scalar {
		written = e.Value.Kind.String()
	}
	fix := "write a phase of the band, for example rolloutPhase: \"350\""
	if wave, err := strconv.Atoi(written); err == nil && wave < 0 {
		fix = fmt.Sprintf("phases begin at 0; a sync wave of Argo CD is syncWave: %d, which the layout app-of-apps goes by", wave)
	}
	d.report(RulePhase, e.Position, fmt.Sprintf("%s %q is not a number from 0 to %d", e.Key, written, int(model.MaxPhase)), fix)
}

func (d *decoder) domain(f *yamldoc.Fields) {
	c := &d.c
	c.Domain = f.Text("domain")
	if tier := f.Text("tier"); c.Domain == "" && tier != "" {
		c.Domain = tier
		c.Fields["domain"] = c.At("tier")
	}
	if c.Domain == "" {
		c.Domain = d.place.Domain
	}
	if c.Domain == "" {
		if band, ok := bandOf(c.Phase, d.ctx.Bands); ok {
			c.Domain = band.Name
		}
	}
}

func bandOf(p model.Phase, bands []plan.Band) (plan.Band, bool) {
	i := slices.IndexFunc(bands, func(b plan.Band) bool { return p >= b.From && p <= b.To })
	if p == model.NoPhase || i < 0 {
		return plan.Band{}, false
	}
	return bands[i], true
}

// componentType reads the type, or infers it from clear evidence.
func (d *decoder) componentType(f *yamldoc.Fields) {
	written := f.Text("componentType")
	if t := model.Type(written); slices.Contains(model.Types(), t) {
		d.c.Type = t
		return
	}
	if written != "" {
		names := make([]string, 0, len(model.Types()))
		for _, t := range model.Types() {
			names = append(names, string(t))
		}
		hint := "use one of " + strings.Join(names, ", ")
		if near := yamldoc.Nearest(written, names); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		f.Wrong("componentType", hint, "componentType %q is not known", written)
	}
	d.c.Type = d.inferType()
}

// inferType reads the slot of the phase.
func (d *decoder) inferType() model.Type {
	if len(d.c.Sources) == 0 && len(d.c.Smoke) > 0 {
		return model.Smoke
	}
	return TypeAt(d.c.Phase, d.ctx.Bands)
}

// HasSlots reports whether the band of a phase has slots. The bands of an older layout with
// phases 0 to 55 have none, and phase 010 holds namespaces and CRDs.
func HasSlots(p model.Phase, bands []plan.Band) bool {
	band, ok := bandOf(p, bands)
	return ok && p >= 100 && band.From%100 == 0 && band.To-band.From == 99
}

// TypeAt is the type of a component with sources that names none: that of the slot,
// where the band has slots at all.
func TypeAt(p model.Phase, bands []plan.Band) model.Type {
	if !HasSlots(p, bands) {
		return model.Runtime
	}
	switch p % 100 {
	case 0:
		return model.Namespaces
	case 10:
		return model.CRDs
	case 20:
		return model.Operator
	case 30:
		return model.Secrets
	case 40:
		return model.Config
	case 55, 60:
		return model.Bootstrap
	case 99:
		return model.Smoke
	default:
		return model.Runtime
	}
}

// names reads what a component requires: a list of texts, one text alone, and maps that
// hold a name and nothing else in place of texts.
func names(v *yamldoc.Value) (items []yamldoc.Item, ok bool) {
	if v == nil {
		return nil, false
	}
	if v.Kind == yamldoc.Null {
		return nil, true
	}
	values := []*yamldoc.Value{v}
	if v.Kind == yamldoc.List {
		values = v.Items
	}
	for i, v := range values {
		if v.Kind == yamldoc.Map && len(v.Entries) == 1 {
			v = v.At("name")
		}
		if v == nil || v.Kind != yamldoc.Scalar || strings.TrimSpace(v.Text) == "" {
			return nil, false
		}
		items = append(items, yamldoc.Item{Index: i, Text: v.Text, Position: v.Position})
	}
	return items, true
}

// required reads requires, and tells what is wrong with it.
func (d *decoder) required(f *yamldoc.Fields) []yamldoc.Item {
	const key = "requires"
	v := f.Value.At(key)
	if items, ok := names(v); !f.Has(key) || ok {
		return items
	}
	if v.Kind != yamldoc.List {
		if !d.surplus(key, v) {
			f.Texts(key) // which tells what it is
		}
		return nil
	}
	var all []yamldoc.Item
	for i, item := range v.Items {
		field := fmt.Sprintf("%s[%d]", key, i)
		items, ok := names(item)
		switch {
		case !ok && item.Kind == yamldoc.Scalar, item.Kind == yamldoc.Null:
			d.problems.Add(field, item.Position, "", "%s is empty", field)
		case !ok || item.Kind == yamldoc.List:
			if !d.surplus(field, item) {
				d.problems.Add(field, item.Position, "write the name of a component", "%s is %s, not text", field, item.Kind)
			}
		default:
			items[0].Index = i
			all = append(all, items...)
		}
	}
	return all
}

// surplus tells of a map that holds more than a name.
func (d *decoder) surplus(field string, v *yamldoc.Value) bool {
	name := v.At("name")
	if name == nil || name.Kind != yamldoc.Scalar {
		return false
	}
	var more []string
	for _, e := range v.Entries {
		if e.Key != "name" {
			more = append(more, e.Key)
		}
	}
	if len(more) == 0 {
		return false
	}
	d.problems.Add(field, v.Position, "write the name alone: "+name.Text, "%s has more than a name, and nothing else is known there: %s", field, strings.Join(more, ", "))
	return true
}

func (d *decoder) requirements(key string, items []yamldoc.Item, capabilities bool) []model.Requirement {
	var list []model.Requirement
	for _, item := range items {
		r := model.Requirement{Text: strings.TrimSpace(item.Text), Position: item.Position}
		field := fmt.Sprintf("%s[%d]", key, item.Index)
		if slices.Contains(olderRequires, key) {
			r.Field = field
		}
		if strings.Contains(r.Text, "/") {
			c, ok := r.Capability()
			if !capabilities {
				d.problems.Add(field, item.Position, "name a component", "%s %q is a capability", field, r.Text)
				continue
			}
			if !ok || c.Kind == "" || c.Name == "" || (c.Namespace == "" && strings.Count(r.Text, "/") == 2) {
				d.problems.Add(field, item.Position, "write kind/namespace/name or kind/name", "%s %q is neither a component nor a capability", field, r.Text)
				continue
			}
		}
		list = append(list, r)
	}
	return list
}

func (d *decoder) syncOptions(f *yamldoc.Fields) []string {
	e, ok := f.Entry("syncOptions")
	if !ok {
		return nil
	}
	if e.Value.Kind != yamldoc.Scalar {
		return f.Strings("syncOptions")
	}
	var options []string
	for part := range strings.SplitSeq(e.Value.Text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			options = append(options, part)
		}
	}
	return options
}

// domainOf names the first folder below components/, when the descriptor lies
// in a folder of its own inside it.
func domainOf(components, file string) string {
	rel := strings.TrimPrefix(path.Dir(file), components)
	parts := strings.Split(strings.Trim(rel, "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[0]
}
