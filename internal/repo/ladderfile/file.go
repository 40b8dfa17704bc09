package ladderfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Name is the name of the ladder file, in the root of the platform.
const Name = "ladder.yaml"

// The rules of the findings that reading the file can make.
const (
	RuleUnknown = "unknown-field"
	RuleInvalid = "invalid-field"
	RulePhase   = "phase-not-numeric"
)

// File is ladder.yaml, read.
type File struct {
	Ladder plan.Ladder
	// LayoutSet says that the file names the layout.
	LayoutSet bool
	// Folders are what environments say about where they lie, by name.
	Folders map[string]Folders
	// PreArgo are the entries of preArgo, still to be read as descriptors.
	PreArgo []PreArgo
	// Rules are glob patterns of simulation rule files.
	Rules []Pattern
	// Durations are the expected times of components, by name.
	Durations map[string]time.Duration
	// Repository is what the file says of the repository itself.
	Repository Repository
	Lint       Lint
	// Catalogue are entries for the catalogue of charts, and files of entries.
	Catalogue []Catalogued
	// ArgoCD is what the generated objects of Argo CD say.
	ArgoCD   ArgoCD
	Findings []finding.Finding
}

// Catalogued is one entry of the catalogue, or the pattern of files that hold
// lists of entries.
type Catalogued struct {
	Files Pattern
	// Entry is nil where Files is set.
	Entry *yamldoc.Value
}

// Folders says where an environment lies.
type Folders struct {
	// Components are the folders of descriptors; empty for the default.
	Components []Pattern
	// Overlay is the folder of Argo CD Applications; empty for none.
	Overlay  string
	Position finding.Position
}

// Pattern is a path or glob pattern with the place that mentions it.
type Pattern struct {
	Path     string
	Position finding.Position
}

// PreArgo is one entry of preArgo.
type PreArgo struct {
	Value *yamldoc.Value
	// Environments that have the entry; empty for all.
	Environments []string
}

// In reports whether an environment has the entry.
func (p PreArgo) In(environment string) bool {
	return len(p.Environments) == 0 || slices.Contains(p.Environments, environment)
}

// Lint holds the settings of the lint rules.
type Lint struct {
	// Rules maps a rule to "error", "warning", "info" or "off".
	Rules    map[string]string
	Suppress []Suppression
	// Parity are the differences between environments that are meant; parity.accept
	// in the file.
	Parity []Acceptance
}

// Acceptance accepts that environments differ in a component, for a reason.
type Acceptance struct {
	Component    string   // empty for every component
	Environments []string // empty for any
	Reason       string
	Position     finding.Position
}

// Suppression hides the findings of a rule, for a reason.
type Suppression struct {
	Rule      string
	Component string // empty for every component
	Reason    string
	Position  finding.Position
}

// Default is the file of a platform that has none.
func Default() *File {
	return &File{
		Ladder: plan.Ladder{
			Layout: plan.Single, Bands: DefaultBands(), Assumed: true, Slots: DefaultSlots(),
			Timeout: DefaultTimeout, Retry: defaultRetry(), MaxInFlight: DefaultMaxInFlight,
			Durations: DefaultDurations(),
		},
		Folders: map[string]Folders{},
		ArgoCD:  DefaultArgoCD(),
	}
}

// Parse reads the content of ladder.yaml.
func Parse(name string, data []byte) (*File, error) {
	v, err := yamldoc.ParseOne(name, data)
	if err != nil {
		return nil, err
	}
	d := &decoder{file: Default()}
	d.file.Ladder.Position = finding.Position{File: name, Line: v.Position.Line}
	if f := yamldoc.Read(v, "", &d.problems); f != nil {
		d.decode(f)
	}
	for _, p := range d.problems.List {
		message := p.Message
		if p.Hint != "" {
			message += "; " + p.Hint
		}
		d.report(RuleInvalid, finding.Error, p.Position, message, p.Hint)
	}
	finding.Sort(d.file.Findings)
	return d.file, nil
}

type decoder struct {
	file     *File
	problems yamldoc.Problems
}

func (d *decoder) report(rule string, severity finding.Severity, at finding.Position, message, fix string) {
	d.file.Findings = append(d.file.Findings, finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Message: message,
		Position: at, Basis: finding.Declared, Fix: finding.Fix{Summary: fix},
	})
}

// unknown reports the keys that nothing asked for.
func (d *decoder) unknown(f *yamldoc.Fields) {
	for _, e := range f.Unknown() {
		d.file.Findings = append(d.file.Findings, unknownField(yamldoc.Join(f.Path, e.Key), e, f.Known()))
	}
}

func unknownField(path string, e yamldoc.Entry, known []string) finding.Finding {
	f := finding.Finding{
		Rule: RuleUnknown, Severity: finding.Warning, Scope: finding.Rule, Position: e.Position, Basis: finding.Declared,
		Message: path + " is not a field of the ladder file",
	}
	if near := yamldoc.Nearest(e.Key, known); near != "" {
		f.Fix.Summary = fmt.Sprintf("did you mean %s?", near)
		f.Message += "; " + f.Fix.Summary
	}
	return f
}

// UnknownFields reports the fields of an entry of preArgo that its descriptor
// does not know.
func UnknownFields(entry PreArgo, unknown map[string]any) []finding.Finding {
	known := []string{"name", "path", "chart", "kustomize", "manifests", "namespace", "componentType", "requires", "enabled", "timeout", "smoke", "environments"}
	var findings []finding.Finding
	for _, e := range entry.Value.Entries {
		if _, ok := unknown[e.Key]; ok {
			findings = append(findings, unknownField("preArgo."+e.Key, e, known))
		}
	}
	return findings
}

func (d *decoder) decode(f *yamldoc.Fields) {
	l := &d.file.Ladder
	d.file.LayoutSet = f.Has("layout")
	d.layout(f)
	d.bands(f)
	l.Sets = f.Strings("tiers")
	if len(l.Sets) > 0 && !f.Has("layout") {
		l.Layout = plan.Tiers
	}
	d.environments(f.Map("environments"))
	d.defaults(f.Map("defaults"))
	d.durations(f.Map("durations"))
	d.steps(f)
	d.waves(f)
	d.preArgo(f)
	if simulation := f.Map("simulation"); simulation != nil {
		d.file.Rules = patterns(simulation, "rules")
		d.unknown(simulation)
	}
	d.repository(f.Map("repository"))
	d.generators(f.Map("generators"))
	d.lint(f.Map("lint"))
	d.parity(f.Map("parity"))
	d.catalogue(f)
	d.argoCD(f.Map("argocd"))
	d.unknown(f)
}

func (d *decoder) layout(f *yamldoc.Fields) {
	layouts := []string{string(plan.Single), string(plan.Tiers), string(plan.AppOfApps)}
	text := f.Text("layout")
	switch {
	case text == "":
	case slices.Contains(layouts, text):
		d.file.Ladder.Layout = plan.Layout(text)
	default:
		f.Wrong("layout", "use "+strings.Join(layouts, ", "), "layout %q is not known", text)
	}
}

func (d *decoder) phase(text string) (model.Phase, bool) {
	p, err := model.ParsePhase(text)
	return p, err == nil
}

func (d *decoder) bands(f *yamldoc.Fields) {
	list := f.Maps("bands")
	if len(list) == 0 {
		return
	}
	var bands []plan.Band
	for _, m := range list {
		b := plan.Band{Name: m.Text("name")}
		from, fromOK := d.phase(m.Text("from"))
		to, toOK := d.phase(m.Text("to"))
		for _, name := range m.Strings("types") {
			if t := model.Type(name); slices.Contains(model.Types(), t) {
				b.Types = append(b.Types, t)
			} else {
				m.Wrong("types", fmt.Sprintf("the types are %v", model.Types()), "%s names %q, which is no type of component", yamldoc.Join(m.Path, "types"), name)
			}
		}
		d.unknown(m)
		switch {
		case b.Name == "":
			d.problems.Add(m.Path, m.Value.Position, "", "%s has no name", m.Path)
			continue
		case !fromOK || !toOK || to < from:
			d.problems.Add(m.Path, m.Value.Position, "write from and to as phases from 0 to 999", "%s (%s) is not a range of phases", m.Path, b.Name)
			continue
		}
		b.From, b.To = from, to
		if i := slices.IndexFunc(bands, func(o plan.Band) bool { return o.From <= b.To && b.From <= o.To }); i >= 0 {
			d.problems.Add(m.Path, m.Value.Position, "a phase belongs to one band", "%s (%s) overlaps the band %s", m.Path, b.Name, bands[i].Name)
			continue
		}
		bands = append(bands, b)
	}
	d.file.Ladder.Bands, d.file.Ladder.Assumed = bands, false
}

func (d *decoder) steps(f *yamldoc.Fields) {
	l := &d.file.Ladder
	for _, m := range f.Maps("steps") {
		s := plan.LadderStep{Set: m.Text("tier"), About: about(m), Position: m.Value.Position}
		for _, item := range m.Texts("phases") {
			p, ok := d.phase(item.Text)
			if !ok {
				d.report(RulePhase, finding.Error, item.Position, fmt.Sprintf("phase %q is not a number from 0 to %d", item.Text, int(model.MaxPhase)), "write a phase such as \"350\"")
				continue
			}
			s.Phases = append(s.Phases, p)
		}
		if len(s.Phases) > 0 {
			s.MaxUpdate = MaxUpdate(s.Phases[0], l.Bands, l.Slots)
		}
		d.maxUpdate(m, &s.MaxUpdate)
		d.unknown(m)
		if len(s.Phases) == 0 {
			if len(m.Texts("phases")) == 0 {
				d.problems.Add(m.Path, m.Value.Position, "add phases: [\"350\"]", "%s has no phases", m.Path)
			}
			continue
		}
		d.tier(m, &s)
		l.Steps = append(l.Steps, s)
	}
}

// about reads what people are told of a step or wave.
func about(m *yamldoc.Fields) plan.About {
	return plan.About{Title: m.Text("title"), Purpose: m.Text("purpose"), Gate: m.Text("gate")}
}

// waves reads what the file tells of sync waves, which the Applications themselves say.
func (d *decoder) waves(f *yamldoc.Fields) {
	l := &d.file.Ladder
	for _, m := range f.Maps("waves") {
		n, ok := m.Int("wave")
		text := about(m)
		d.unknown(m)
		if !ok {
			if !m.Has("wave") {
				d.problems.Add(m.Path, m.Value.Position, "add wave: -3", "%s has no wave", m.Path)
			}
			continue
		}
		if _, twice := l.Waves[n]; twice {
			m.Wrong("wave", "describe each wave once", "%s.wave %d is described twice", m.Path, n)
			continue
		}
		if l.Waves == nil {
			l.Waves = map[int]plan.About{}
		}
		l.Waves[n] = text
	}
}

// tier finds the tier of a step that names none: the tier that has the name of
// the band of its first phase.
func (d *decoder) tier(m *yamldoc.Fields, s *plan.LadderStep) {
	l := d.file.Ladder
	if l.Layout != plan.Tiers {
		s.Set = ""
		return
	}
	if s.Set == "" {
		if band := bandOf(s.Phases[0], l.Bands); slices.Contains(l.Sets, band) {
			s.Set = band
		}
		return
	}
	if !slices.Contains(l.Sets, s.Set) {
		m.Wrong("tier", "name one of tiers: "+strings.Join(l.Sets, ", "), "%s.tier %q is not one of the tiers", m.Path, s.Set)
	}
}

// maxUpdate reads a count or a percentage. Source: Argo CD progressive syncs.
func (d *decoder) maxUpdate(m *yamldoc.Fields, to *plan.MaxUpdate) {
	text := strings.TrimSpace(m.Text("maxUpdate"))
	if text == "" {
		return
	}
	number, percent := strings.CutSuffix(text, "%")
	n, ok := count(number)
	if !ok || (percent && n > 100) {
		m.Wrong("maxUpdate", "write a count such as 3, or a percentage such as 25%", "%s.maxUpdate %q is neither a count nor a percentage", m.Path, text)
		return
	}
	*to = plan.MaxUpdate{Count: n, Percent: percent, Set: true}
}
