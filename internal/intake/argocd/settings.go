package argocd

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/argo"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

const (
	settingsName   = "argocd-cm"
	customizations = "resource.customizations"
	healthPrefix   = customizations + ".health."
	argoChart      = "argo-cd"
	// globalProjects is the key, and in generators of ConfigMaps the file, that
	// lists the projects others inherit from.
	globalProjects = "globalProjects"
)

// How the newer globbing of Git generators is switched on: the key of
// argocd-cmd-params-cm, the variable of the ApplicationSet controller, its flag.
// Source: Argo CD, "Git Generator".
const (
	globbingKey      = "applicationsetcontroller.enable.new.git.file.globbing"
	globbingVariable = "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_NEW_GIT_FILE_GLOBBING"
	globbingFlag     = "--enable-new-git-file-globbing"
)

func mentionsSettings(data []byte) bool {
	return bytes.Contains(data, []byte(settingsName)) || bytes.Contains(data, []byte(customizations)) ||
		bytes.Contains(data, []byte(argoChart)) || bytes.Contains(data, []byte(globalProjects)) ||
		bytes.Contains(data, []byte(globbingKey)) || bytes.Contains(data, []byte(globbingVariable)) || bytes.Contains(data, []byte(globbingFlag))
}

// readSettings gathers what a file says of argocd-cm: the ConfigMap, a patch of
// it, or the values of the chart argo-cd. What any file says counts: which of
// them belongs to which environment is not always told, and a health check too
// many hides a finding where one too few makes a false one.
func (r *Repository) readSettings(file string, values []*yamlpos.Value) {
	var s settingsReader
	for _, v := range values {
		s.read(v, 0)
	}
	r.newGlobbing = r.newGlobbing || s.newGlobbing
	for _, name := range s.global {
		if !slices.Contains(r.settings.Global, name) {
			r.settings.Global = append(r.settings.Global, name)
		}
	}
	if !s.known && len(s.health) == 0 {
		return
	}
	if !r.settings.Known || s.position.File < r.settings.Position.File {
		r.settings.Position = s.position
	}
	r.settings.Known = true
	for _, kind := range s.health {
		if !slices.Contains(r.settings.Health, kind) {
			r.settings.Health = append(r.settings.Health, kind)
		}
	}
	if r.settings.Position.File == "" {
		r.settings.Position = finding.Position{File: file, Line: 1}
	}
}

// settingsReader looks through one file.
type settingsReader struct {
	known    bool
	health   []argo.GroupKind
	global   []string
	position finding.Position
	// newGlobbing is set where the newer globbing of Git generators is switched on.
	newGlobbing bool
}

// readGlobalProjects reads a file that a generator puts into argocd-cm as the key
// globalProjects.
func (r *Repository) readGlobalProjects(file string) {
	data, err := r.tree.Read(file)
	if err != nil {
		return
	}
	if v, err := yamlpos.ParseOne(file, data); err == nil {
		s := settingsReader{}
		s.globals(v)
		r.settings.Global = append(r.settings.Global, s.global...)
	}
}

// globals reads the list of projects that others inherit from, YAML in a text or
// written as such.
func (s *settingsReader) globals(v *yamlpos.Value) {
	if v.Kind == yamlpos.Scalar {
		parsed, err := yamlpos.ParseOne(v.Position.File, []byte(v.Text))
		if err != nil {
			return
		}
		v = parsed
	}
	for _, item := range v.Items {
		if name := item.TextAt("projectName"); name != "" {
			s.global = append(s.global, name)
		}
	}
}

// maxNested is how deep texts that hold YAML may be nested in each other.
const maxNested = 3

func (s *settingsReader) found(at finding.Position) {
	if !s.known {
		s.known, s.position = true, at
	}
}

func (s *settingsReader) read(v *yamlpos.Value, nested int) {
	switch v.Kind {
	case yamlpos.Map:
		s.object(v)
		for _, e := range v.Entries {
			s.entry(e, nested)
		}
	case yamlpos.List:
		for _, item := range v.Items {
			s.read(item, nested)
		}
	case yamlpos.Scalar:
		// A JSON patch names the key in its path.
		if _, key, ok := strings.Cut(v.Text, "/"+healthPrefix); ok && !strings.ContainsAny(key, " \n") {
			s.add(healthPrefix+key, v.Position)
		}
		if v.Text == globbingFlag || v.Text == globbingFlag+"=true" {
			s.newGlobbing = true
		}
		if nested < maxNested && strings.Contains(v.Text, "\n") && mentionsSettings([]byte(v.Text)) {
			if documents, err := yamlpos.Parse(v.Position.File, []byte(v.Text)); err == nil {
				for _, d := range documents {
					s.read(d.Located(v.Position), nested+1)
				}
			}
		}
	case yamlpos.Null:
	}
}

// object looks at a map as a whole: the ConfigMap itself, or a use of the chart
// argo-cd, whose ConfigMap has no health checks unless its values say so.
func (s *settingsReader) object(v *yamlpos.Value) {
	if v.TextAt("kind") == "ConfigMap" && v.TextAt("metadata", "name") == settingsName {
		s.found(v.Position)
	}
	if v.TextAt("chart") == argoChart || v.TextAt("name") == argoChart && (v.At("repository") != nil || v.At("repo") != nil) {
		s.found(v.Position)
	}
	if v.TextAt("name") == globbingVariable && isTrue(v.TextAt("value")) {
		s.newGlobbing = true
	}
	for _, path := range [][]string{{"configs", "cm"}, {"server", "config"}} {
		if cm := v.At(path...); cm != nil && cm.Kind == yamlpos.Map && slices.ContainsFunc(cm.Entries, func(e yamlpos.Entry) bool {
			return strings.HasPrefix(e.Key, customizations)
		}) {
			s.found(cm.Position)
		}
	}
}

func (s *settingsReader) entry(e yamlpos.Entry, nested int) {
	switch {
	case strings.HasPrefix(e.Key, healthPrefix):
		s.add(e.Key, e.Position)
	case e.Key == customizations:
		s.older(e)
	case e.Key == globbingKey:
		s.newGlobbing = s.newGlobbing || isTrue(e.Value.Text)
	case e.Key == globalProjects:
		s.globals(e.Value)
	default:
		s.read(e.Value, nested)
	}
}

// isTrue reads a switch as Argo CD reads a variable of its environment. Source: Go,
// strconv.ParseBool.
func isTrue(text string) bool {
	on, err := strconv.ParseBool(text)
	return on && err == nil
}

// add takes a key "resource.customizations.health.<group>_<kind>". Source: Argo
// CD, "Resource Health".
func (s *settingsReader) add(key string, at finding.Position) {
	s.found(at)
	group, kind := "", strings.TrimPrefix(key, healthPrefix)
	if i := strings.LastIndex(kind, "_"); i >= 0 {
		group, kind = kind[:i], kind[i+1:]
	}
	s.health = append(s.health, argo.GroupKind{Group: group, Kind: kind})
}

// older reads the key that held all customizations, as YAML in a text, or as a
// map in values: "group/Kind: {health.lua: ...}".
func (s *settingsReader) older(e yamlpos.Entry) {
	v := e.Value
	if v.Kind == yamlpos.Scalar {
		parsed, err := yamlpos.ParseOne(v.Position.File, []byte(v.Text))
		if err != nil {
			return
		}
		v = parsed
	}
	s.found(e.Position)
	for _, one := range v.Entries {
		if one.Value.At("health.lua") == nil {
			continue
		}
		group, kind, ok := strings.Cut(one.Key, "/")
		if !ok {
			group, kind = "", one.Key
		}
		s.health = append(s.health, argo.GroupKind{Group: group, Kind: kind})
	}
}

// misplacedWave finds files that have sync waves, some perhaps beside the
// annotations.
var misplacedWave = regexp.MustCompile(`argocd\.argoproj\.io/sync-wave["']?:`)

// findMisplaced notes the sync waves that are fields of metadata.
func (r *Repository) findMisplaced(documents []document) {
	for _, d := range documents {
		note := func(template bool, keys ...string) {
			e, ok := d.value.At(keys...).Get(waveAnnotation)
			if !ok {
				return
			}
			r.misplaced = append(r.misplaced, argo.Misplaced{Object: resource(d), Template: template, Position: e.Position})
		}
		note(false, "metadata")
		if d.argo("ApplicationSet") {
			note(true, "spec", "template", "metadata")
		}
	}
}

// resource names an object.
func resource(d document) finding.Resource {
	group, _, ok := strings.Cut(d.value.TextAt("apiVersion"), "/")
	if !ok {
		group = ""
	}
	return finding.Resource{Group: group, Kind: d.kind(), Namespace: d.value.TextAt("metadata", "namespace"), Name: d.name()}
}

// holds reports whether one of the sources of a component is, or contains, a
// file.
func holds(c component.Component, file string) bool {
	return slices.ContainsFunc(c.Sources, func(s component.Source) bool {
		return s.Path != "" && (s.Path == file || s.Path == "." || strings.HasPrefix(file, s.Path+"/"))
	})
}
