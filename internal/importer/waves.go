package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The older names of the phase, as keys of descriptors and labels.
func oldKeys() []string { return []string{"wave", "rolloutWave", "rollout-wave"} }

// The names that take their place.
const (
	phaseField  = "rolloutPhase"
	phaseLabel  = "rollout-phase"
	domainField = "domain"
	tierField   = "tier"
)

// WavesOptions say how waves become phases.
type WavesOptions struct {
	// Map gives phases for waves; what it lacks goes by the factor.
	Map map[int]model.Phase
	// Factor multiplies waves; 0 chooses 10 where all waves are below 100, else 1.
	Factor int
}

// Mapping is a wave and the phase that it becomes.
type Mapping struct {
	Wave  int    `json:"wave"`
	Phase string `json:"phase"`
	// Uses is how often the wave is written.
	Uses int `json:"uses"`
}

// Rewriting is what rewriting waves changes.
type Rewriting struct {
	Changes []patch.Change
	Mapping []Mapping
	Notes   []Note
	// Files is the number of files that were looked at.
	Files int

	tree *repofs.Tree
}

// Waves finds the older labels of a repository and what they become. Nothing is
// written.
func Waves(ctx context.Context, dir string, o WavesOptions) (*Rewriting, error) {
	tree, err := repofs.Discover(dir)
	if err != nil {
		return nil, err
	}
	found, err := tree.Find(ctx, ".", func(name string) bool { return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") })
	if err != nil {
		return nil, err
	}
	w := &waves{options: o, out: &Rewriting{Files: len(found), tree: tree}, uses: map[int]int{}}
	for _, file := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.read(tree, file); err != nil {
			return nil, err
		}
	}
	if err := w.decide(); err != nil {
		return nil, err
	}
	return w.out, w.rewrite()
}

// waves is one run of Waves.
type waves struct {
	options WavesOptions
	out     *Rewriting
	uses    map[int]int
	files   []*waveFile
	phases  map[int]model.Phase
}

// waveFile is a file with the older names in it.
type waveFile struct {
	name string
	text string
	// edits are scalars to replace, edited those of them.
	edits  []waveEdit
	edited map[*yaml.Node]bool
}

// waveEdit replaces one scalar; wave is set where it is a wave, else text.
type waveEdit struct {
	node *yaml.Node
	wave int
	is   bool
	text string
}

func (f *waveFile) becomes(n *yaml.Node, text string) {
	if n.Value != text {
		f.edit(waveEdit{node: n, text: text})
	}
}

func (f *waveFile) edit(e waveEdit) {
	f.edits = append(f.edits, e)
	f.edited[e.node] = true
}

// read finds the older names of a file. A file that is no YAML holds none; one that
// holds descriptors must be readable.
func (w *waves) read(tree *repofs.Tree, file string) error {
	data, err := tree.Read(file)
	if err != nil {
		return err
	}
	if !mentions(data) {
		return nil
	}
	// The limits on aliases and size hold here as elsewhere.
	if _, err := yamldoc.Parse(file, data); err != nil {
		if isDescriptor(file) || path.Base(file) == ladderfile.Name {
			return err
		}
		w.out.Notes = append(w.out.Notes, Note{Level: Told, What: "file", Position: finding.Position{File: file}, Message: "the file is not YAML (it may be a template), and its waves are left as they are"})
		return nil
	}
	f := &waveFile{name: file, text: string(data), edited: map[*yaml.Node]bool{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &repofs.InputError{Position: finding.Position{File: file}, Message: "YAML: " + err.Error()}
		}
		if len(n.Content) == 1 && n.Content[0].Kind == yaml.MappingNode {
			if err := w.document(f, n.Content[0]); err != nil {
				return err
			}
		}
	}
	if len(f.edits) > 0 {
		w.files = append(w.files, f)
	}
	return nil
}

// mentions reports whether a file may hold older names at all.
func mentions(data []byte) bool {
	for _, word := range []string{"wave", "Wave", tierField, "steps", "bands"} {
		if bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}

func isDescriptor(file string) bool {
	base := path.Base(file)
	return base == descriptor.FileName || base == descriptor.DisabledFileName
}

func (w *waves) document(f *waveFile, m *yaml.Node) error {
	switch kind := valueOf(m, "kind"); {
	case path.Base(f.name) == ladderfile.Name && kind == nil:
		return w.ladder(f, m)
	case isDescriptor(f.name):
		return w.descriptor(f, m)
	case kind != nil && kind.Value == "ApplicationSet":
		return w.applicationSet(f, m)
	case kind != nil && kind.Value == "Application":
		return w.labels(f, pathOf(m, "metadata", "labels"))
	case kind != nil && strings.HasSuffix(kind.Value, "List"):
		if items := valueOf(m, "items"); items != nil {
			for _, item := range items.Content {
				if item.Kind == yaml.MappingNode {
					if err := w.document(f, item); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// descriptor rewrites wave, tier and the labels of a descriptor. A phase that is
// written already is a phase only if it is no wave of the older form.
func (w *waves) descriptor(f *waveFile, m *yaml.Node) error {
	phaseKey, phase := entryOf(m, phaseField)
	for _, old := range oldKeys() {
		k, v := entryOf(m, old)
		if k == nil {
			continue
		}
		if phaseKey != nil {
			w.conflict(f, k, old, phaseField)
			continue
		}
		if err := w.wave(f, v); err != nil {
			return err
		}
		f.becomes(k, phaseField)
		phaseKey = k
	}
	if phase != nil && strings.HasPrefix(phase.Value, "wave") {
		if err := w.wave(f, phase); err != nil {
			return err
		}
	}
	if k, _ := entryOf(m, tierField); k != nil {
		if other, _ := entryOf(m, domainField); other != nil {
			w.conflict(f, k, tierField, domainField)
		} else {
			f.becomes(k, domainField)
		}
	}
	return w.labels(f, valueOf(m, "labels"))
}

func (w *waves) conflict(f *waveFile, k *yaml.Node, old, replaced string) {
	w.out.Notes = append(w.out.Notes, Note{
		Level: Lost, What: "field", Position: finding.Position{File: f.name, Line: k.Line},
		Message: fmt.Sprintf("%s stays, since %s is written as well", old, replaced), Hint: "remove one of the two",
	})
}

// labels rewrites labels of Applications and descriptors.
func (w *waves) labels(f *waveFile, m *yaml.Node) error {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	for _, old := range oldKeys() {
		k, v := entryOf(m, old)
		if k == nil {
			continue
		}
		if other, _ := entryOf(m, phaseLabel); other != nil {
			w.conflict(f, k, old, phaseLabel)
			continue
		}
		if err := w.wave(f, v); err != nil {
			return err
		}
		f.becomes(k, phaseLabel)
	}
	if _, v := entryOf(m, phaseLabel); v != nil && strings.HasPrefix(v.Value, "wave") {
		return w.wave(f, v)
	}
	return nil
}

// wave rewrites a value: a wave, or a template that gives one.
func (w *waves) wave(f *waveFile, v *yaml.Node) error {
	at := finding.Position{File: f.name, Line: v.Line}
	if v.Kind == yaml.AliasNode || v.Anchor != "" {
		return &repofs.InputError{Position: at, Message: "the wave is shared through an alias", Hint: "write it out"}
	}
	if v.Kind != yaml.ScalarNode {
		return &repofs.InputError{Position: at, Message: "the wave is no number", Hint: "write a wave such as wave35 or 35"}
	}
	if strings.Contains(v.Value, "{{") {
		if ofLabels(v.Value) {
			return &repofs.InputError{Position: at, Message: fmt.Sprintf("the template %s takes the wave from a label, whose name changes", v.Value), Hint: `write {{ index .labels "rollout-phase" }}, or take the field rolloutPhase`}
		}
		f.becomes(v, templated(v.Value))
		return nil
	}
	phase, err := model.ParsePhase(v.Value)
	if err != nil {
		return &repofs.InputError{Position: at, Message: fmt.Sprintf("%q is no wave", v.Value), Hint: "write a wave such as wave35 or 35, from 0 to 999"}
	}
	w.uses[int(phase)]++
	f.edit(waveEdit{node: v, wave: int(phase), is: true})
	return nil
}

// ofLabels reports whether a template takes a wave from the labels of a descriptor.
func ofLabels(text string) bool {
	return slices.ContainsFunc(oldKeys(), func(old string) bool { return strings.Contains(text, "labels."+old) })
}

// templated replaces the older fields in a template of an ApplicationSet:
// '{{wave}}' and '{{ .wave }}', with labels in between.
func templated(text string) string {
	for _, old := range oldKeys() {
		for _, form := range []string{"%s}}", "%s }}", "%s |", "%s|"} {
			text = strings.ReplaceAll(text, fmt.Sprintf("."+form, old), fmt.Sprintf("."+form, phaseField))
			for _, open := range []string{"{{", "{{ "} {
				text = strings.ReplaceAll(text, open+fmt.Sprintf(form, old), open+fmt.Sprintf(form, phaseField))
			}
		}
	}
	for _, form := range []string{"%s}}", "%s }}"} {
		text = strings.ReplaceAll(text, fmt.Sprintf("."+form, tierField), fmt.Sprintf("."+form, domainField))
		for _, open := range []string{"{{", "{{ "} {
			text = strings.ReplaceAll(text, open+fmt.Sprintf(form, tierField), open+fmt.Sprintf(form, domainField))
		}
	}
	return text
}

// applicationSet rewrites the labels of the template and the steps that match
// them.
func (w *waves) applicationSet(f *waveFile, m *yaml.Node) error {
	if err := w.labels(f, pathOf(m, "spec", "template", "metadata", "labels")); err != nil {
		return err
	}
	if err := w.labels(f, pathOf(m, "metadata", "labels")); err != nil {
		return err
	}
	w.templates(f, pathOf(m, "spec", "template"))
	steps := pathOf(m, "spec", "strategy", "rollingSync", "steps")
	if steps == nil {
		return nil
	}
	for _, step := range steps.Content {
		list := valueOf(step, "matchExpressions")
		if list == nil {
			continue
		}
		for _, e := range list.Content {
			if err := w.expression(f, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// expression rewrites one match expression of a step.
func (w *waves) expression(f *waveFile, e *yaml.Node) error {
	key, values := valueOf(e, "key"), valueOf(e, "values")
	if key == nil {
		return nil
	}
	old := slices.Contains(oldKeys(), key.Value)
	if !old && key.Value != phaseLabel {
		return nil
	}
	if values != nil && values.Kind == yaml.SequenceNode {
		for _, v := range values.Content {
			if !old && !strings.HasPrefix(v.Value, "wave") {
				continue
			}
			if err := w.wave(f, v); err != nil {
				return err
			}
		}
	}
	f.becomes(key, phaseLabel)
	return nil
}

// templates rewrites the fields of descriptors that the texts of a template use.
// Labels were rewritten before.
func (w *waves) templates(f *waveFile, n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "{{") && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		if text := templated(n.Value); !f.edited[n] && !ofLabels(n.Value) && text != n.Value {
			f.becomes(n, text)
		}
	}
	for _, child := range n.Content {
		w.templates(f, child)
	}
}

// ladder rewrites the phases of ladder.yaml that are waves: those of steps and
// bands, where the file is one of waves.
func (w *waves) ladder(f *waveFile, m *yaml.Node) error {
	steps, bands := valueOf(m, "steps"), valueOf(m, "bands")
	if !wavesIn(steps) {
		return nil
	}
	for _, step := range steps.Content {
		if list := valueOf(step, "phases"); list != nil {
			for _, v := range list.Content {
				if err := w.wave(f, v); err != nil {
					return err
				}
			}
		}
	}
	if bands == nil {
		return nil
	}
	for _, b := range bands.Content {
		for _, key := range []string{"from", "to"} {
			if v := valueOf(b, key); v != nil {
				if err := w.wave(f, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// wavesIn reports whether a list of steps has phases of the older form, "wave35"
// or two digits; those of three digits are phases.
func wavesIn(steps *yaml.Node) bool {
	if steps == nil {
		return false
	}
	for _, step := range steps.Content {
		if list := valueOf(step, "phases"); list != nil {
			for _, v := range list.Content {
				if strings.HasPrefix(v.Value, "wave") || len(v.Value) < 3 {
					return true
				}
			}
		}
	}
	return false
}

// decide gives every wave its phase; two waves must not become one.
func (w *waves) decide() error {
	all := make([]int, 0, len(w.uses))
	for wave := range w.uses {
		all = append(all, wave)
	}
	slices.Sort(all)
	factor := w.options.Factor
	if factor == 0 {
		factor = 1
		if len(all) > 0 && all[len(all)-1] < 100 {
			factor = 10
		}
	}
	w.phases = map[int]model.Phase{}
	last := model.NoPhase
	for _, wave := range all {
		phase, ok := w.options.Map[wave]
		if !ok {
			phase = model.Phase(wave * factor)
		}
		if phase > model.MaxPhase || phase < 0 {
			return &repofs.InputError{Message: fmt.Sprintf("wave %d would become the phase %d", wave, int(phase)), Hint: "phases go to 999; give it one with --map " + strconv.Itoa(wave) + "=PHASE"}
		}
		if phase <= last {
			return &repofs.InputError{
				Message: fmt.Sprintf("wave %d would become the phase %s, which is not after %s, that of the wave before", wave, phase, last),
				Hint:    "the order of the waves must stay; change --map",
			}
		}
		last = phase
		w.phases[wave] = phase
		w.out.Mapping = append(w.out.Mapping, Mapping{Wave: wave, Phase: phase.String(), Uses: w.uses[wave]})
	}
	for _, wave := range slices.Sorted(keysOf(w.options.Map)) {
		if w.uses[wave] == 0 {
			w.out.Notes = append(w.out.Notes, Note{Level: Told, What: "map", Message: fmt.Sprintf("no file has the wave %d", wave)})
		}
	}
	return nil
}

func keysOf[V any](m map[int]V) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
