package importer

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/schema"
)

// schemaFolder holds the JSON Schemas that descriptors name for editors.
const schemaFolder = ".ladder"

// The files of the schemas.
const (
	componentSchema = schemaFolder + "/component.schema.json"
	ladderSchema    = schemaFolder + "/ladder.schema.json"
)

// schemaLine names the schema of a file for editors, by its relative path.
func schemaLine(file, schema string) string {
	up := strings.Repeat("../", strings.Count(path.Clean(file), "/"))
	return "# yaml-language-server: $schema=" + up + schema + "\n"
}

// Emit returns the files of a platform: descriptors, ladder.yaml, the layers of
// values and the schemas, sorted by path.
func (p *Platform) Emit() ([]File, error) {
	files := slices.Clone(p.Files)
	for name, to := range map[string]string{"component": componentSchema, "ladder": ladderSchema} {
		content, err := schema.Get(name)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: to, Content: content})
	}
	ladder, err := p.ladder()
	if err != nil {
		return nil, err
	}
	files = append(files, ladder)
	for _, c := range p.Components {
		for _, env := range p.Environments {
			d := c.In[env]
			if d == nil || c.PreArgo {
				continue
			}
			f, err := c.file(env, d)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i := 1; i < len(files); i++ {
		if files[i].Path == files[i-1].Path && !bytes.Equal(files[i].Content, files[i-1].Content) {
			return nil, fmt.Errorf("two files would be written to %s", files[i].Path)
		}
	}
	return slices.CompactFunc(files, func(a, b File) bool { return a.Path == b.Path }), nil
}

// file is the descriptor of a component in an environment. What has nothing to
// render keeps its place as a disabled one.
func (c *Component) file(env string, d *Descriptor) (File, error) {
	name := descriptor.FileName
	if !d.Enabled || (!d.HasSource() && c.Type != model.Smoke) {
		name = descriptor.DisabledFileName
	}
	file := path.Join("environments", env, "components", c.Domain, c.Name, name)
	var b bytes.Buffer
	b.WriteString(schemaLine(file, componentSchema))
	for _, line := range d.Comment {
		b.WriteString("# " + oneLine(line) + "\n")
	}
	text, err := encode(c.tree(d, c.phaseIn(env)))
	if err != nil {
		return File{}, fmt.Errorf("write the descriptor of %s: %w", c.Name, err)
	}
	b.Write(text)
	return File{Path: file, Content: b.Bytes()}, nil
}

// oneLine makes one line of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// encode writes a tree as YAML indented by two.
func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// stream writes objects as the documents of one file, each with the file that it is
// from.
func stream(component string, objects []manifest.Object) ([]byte, error) {
	var b bytes.Buffer
	for _, o := range objects {
		var n yaml.Node
		err := n.Encode(o.Object)
		var text []byte
		if err == nil {
			text, err = encode(&n)
		}
		if err != nil {
			return nil, fmt.Errorf("write the objects of %s: %w", component, err)
		}
		fmt.Fprintf(&b, "---\n# %s\n%s", o.Origin.File, text)
	}
	return b.Bytes(), nil
}

// tree is the content of a descriptor in the order in which people read it.
func (c *Component) tree(d *Descriptor, phase model.Phase) *yaml.Node {
	m := newMap()
	m.text("name", c.Name)
	m.text("project", d.Project)
	m.text("domain", c.Domain)
	m.text("namespace", d.Namespace)
	if phase >= 0 {
		m.quoted("rolloutPhase", phase.String())
	}
	m.text("componentType", string(c.Type))
	if len(d.Labels) > 0 {
		m.any("labels", model.AnyMap(d.Labels))
	}
	m.list("requires", d.Requires)
	m.list("validates", d.Validates)
	d.sources(m)
	m.list("syncOptions", d.SyncOptions)
	if len(d.IgnoreDifferences) > 0 {
		m.any("ignoreDifferences", ignored(d.IgnoreDifferences))
	}
	if d.Timeout > 0 {
		m.text("timeout", finding.Duration(d.Timeout))
	}
	m.retry(d.Retry)
	return m.Node
}

// sources adds what the component is rendered from.
func (d *Descriptor) sources(m mapping) {
	if d.Chart != nil {
		m.node("chart", d.Chart.tree())
	}
	if d.Kustomize != "" {
		k := newMap()
		k.text("path", d.Kustomize)
		m.node("kustomize", k.Node)
	}
	if d.Manifests != "" {
		k := newMap()
		k.text("path", d.Manifests)
		if d.Recurse {
			k.any("recurse", true)
		}
		m.node("manifests", k.Node)
	}
}

// preArgo are the entries of ladder.yaml for what comes before Argo CD. Those that
// are the same in several environments are written once.
func (p *Platform) preArgo() *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, c := range p.Components {
		if !c.PreArgo {
			continue
		}
		var entries []mapping
		var texts []string
		in := map[string][]string{}
		for _, env := range p.Environments {
			d := c.In[env]
			if d == nil {
				continue
			}
			m := newMap()
			m.text("name", c.Name)
			m.text("namespace", d.Namespace)
			m.text("componentType", string(c.Type))
			m.list("requires", d.Requires)
			d.sources(m)
			if !d.Enabled {
				m.any("enabled", false)
			}
			text, err := encode(m.Node)
			if err != nil {
				continue // texts and lists of texts can be written
			}
			if len(in[string(text)]) == 0 {
				entries, texts = append(entries, m), append(texts, string(text))
			}
			in[string(text)] = append(in[string(text)], env)
		}
		for i, m := range entries {
			if envs := in[texts[i]]; len(envs) < len(p.Environments) {
				m.list("environments", envs)
			}
			list.Content = append(list.Content, m.Node)
		}
	}
	return list
}

func (ch *Chart) tree() *yaml.Node {
	m := newMap()
	m.text("path", ch.Path)
	m.text("repoURL", ch.RepoURL)
	m.text("name", ch.Name)
	if ch.Version != "" {
		m.quoted("version", ch.Version)
	}
	m.text("releaseName", ch.ReleaseName)
	if ch.SkipCRDs {
		m.any("skipCrds", true)
	}
	if len(ch.ValueFiles) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, f := range ch.ValueFiles {
			if !f.Optional {
				list.Content = append(list.Content, scalar(f.Path))
				continue
			}
			entry := newMap()
			entry.text("path", f.Path)
			entry.any("optional", true)
			list.Content = append(list.Content, entry.Node)
		}
		m.node("valueFiles", list)
	}
	if len(ch.Values) > 0 {
		m.any("values", ch.Values)
	}
	if len(ch.Parameters) > 0 {
		m.any("parameters", model.AnyMap(ch.Parameters))
	}
	return m.Node
}

// mapping builds a mapping whose keys keep their order.
type mapping struct{ *yaml.Node }

func newMap() mapping { return mapping{&yaml.Node{Kind: yaml.MappingNode}} }

func (m mapping) node(key string, v *yaml.Node) { m.Content = append(m.Content, scalar(key), v) }

// text adds a text that is not empty.
func (m mapping) text(key, value string) {
	if value != "" {
		m.node(key, scalar(value))
	}
}

func (m mapping) quoted(key, value string) {
	v := scalar(value)
	v.Style = yaml.DoubleQuotedStyle
	m.node(key, v)
}

func (m mapping) list(key string, items []string) {
	if len(items) == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range items {
		list.Content = append(list.Content, scalar(item))
	}
	m.node(key, list)
}

func (m mapping) any(key string, value any) {
	var n yaml.Node
	if err := n.Encode(value); err == nil {
		m.node(key, &n)
	}
}

func (m mapping) retry(r model.Retry) {
	if r.Limit == nil && r.Duration == 0 && r.Factor == 0 && r.MaxDuration == 0 {
		return
	}
	out, backoff := newMap(), newMap()
	if r.Limit != nil {
		out.any("limit", *r.Limit)
	}
	if r.Duration > 0 {
		backoff.text("duration", finding.Duration(r.Duration))
	}
	if r.Factor > 0 {
		backoff.any("factor", r.Factor)
	}
	if r.MaxDuration > 0 {
		backoff.text("maxDuration", finding.Duration(r.MaxDuration))
	}
	if len(backoff.Content) > 0 {
		out.node("backoff", backoff.Node)
	}
	m.node("retry", out.Node)
}

// scalar is a string; the encoder quotes what would be read as something else.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func ignored(list []model.IgnoreDifference) []any {
	var out []any
	for _, i := range list {
		m := map[string]any{}
		for key, text := range map[string]string{"group": i.Group, "kind": i.Kind, "name": i.Name, "namespace": i.Namespace} {
			if text != "" {
				m[key] = text
			}
		}
		for key, texts := range map[string][]string{"jsonPointers": i.JSONPointers, "jqPathExpressions": i.JQPathExpressions, "managedFieldsManagers": i.ManagedFieldsManagers} {
			if len(texts) > 0 {
				m[key] = texts
			}
		}
		out = append(out, m)
	}
	return out
}

// ladder is ladder.yaml.
func (p *Platform) ladder() (File, error) {
	m := newMap()
	m.text("layout", string(p.Layout))
	if len(p.Bands) > 0 && !reflect.DeepEqual(p.Bands, ladderfile.DefaultBands()) {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, b := range p.Bands {
			band := newMap()
			band.Style = yaml.FlowStyle
			band.text("name", b.Name)
			band.any("from", int(b.From))
			band.any("to", int(b.To))
			list.Content = append(list.Content, band.Node)
		}
		m.node("bands", list)
	}
	if len(p.Steps) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, s := range p.Steps {
			step := newMap()
			step.Style = yaml.FlowStyle
			phases := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			phase := scalar(s.Phase.String())
			phase.Style = yaml.DoubleQuotedStyle
			phases.Content = append(phases.Content, phase)
			step.node("phases", phases)
			step.text("maxUpdate", s.MaxUpdate)
			step.LineComment = s.Was
			list.Content = append(list.Content, step.Node)
		}
		m.node("steps", list)
	}
	environments := newMap()
	for _, env := range slices.Sorted(slices.Values(p.Environments)) {
		environments.node(env, &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle})
	}
	m.node("environments", environments.Node)
	if list := p.preArgo(); len(list.Content) > 0 {
		m.node("preArgo", list)
	}
	text, err := encode(m.Node)
	if err != nil {
		return File{}, fmt.Errorf("write %s: %w", ladderfile.Name, err)
	}
	return File{Path: ladderfile.Name, Content: append([]byte(schemaLine(ladderfile.Name, ladderSchema)), text...)}, nil
}

// yamlText writes values as YAML with sorted keys.
func yamlText(values map[string]any) ([]byte, error) {
	var n yaml.Node
	if err := n.Encode(values); err != nil {
		return nil, err
	}
	return encode(&n)
}

// sortedKeys are the keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
