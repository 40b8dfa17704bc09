package installation

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// key reads a setting by its key. It reports whether the key is one that is read.
func (r *Reader) key(key string, v *yamldoc.Value, at finding.Position, in home) bool {
	belongs, known := belongs(key)
	if known && belongs == settings && in == anywhere || in == settings && isSetting(key) {
		r.write(key, v, at)
	}
	if !known {
		return false
	}
	if in != anywhere && in != belongs {
		r.found.Stray = append(r.found.Stray, argo.Stray{Key: key, In: string(in), Home: string(belongs), Position: at})
		return true
	}
	switch {
	case key == progressiveKey:
		turn(&r.found.ProgressiveSyncs, v.Text, at)
	case key == globbingKey:
		turn(&r.found.NewGlobbing, v.Text, at)
	case key == watchedKey:
		r.watch(v.Text)
	case key == syncTimeoutKey:
		r.endsSyncs(v.Text, at)
	case key == globalKey:
		r.globals(v)
		return true // nothing follows of what is not there
	case strings.HasPrefix(key, healthPrefix):
		r.health(groupKind(strings.TrimPrefix(key, healthPrefix)), v.Text)
	case strings.HasPrefix(key, ignoredPrefix):
		r.ignore(groupKind(strings.TrimPrefix(key, ignoredPrefix)), parsed(v))
	case key == customizations:
		r.older(parsed(v))
	case key == exclusionsKey:
		r.found.Exclusions = append(r.found.Exclusions, argo.Filters{Filters: filters(v), Position: at})
	case key == inclusionsKey:
		r.found.Inclusions = append(r.found.Inclusions, argo.Filters{Filters: filters(v), Position: at})
	case key == buildKey, strings.HasPrefix(key, buildKey+"."):
		version := strings.TrimPrefix(strings.TrimPrefix(key, buildKey), ".")
		r.found.Build = append(r.found.Build, argo.BuildOptions{Version: version, Text: v.Text, Position: at})
	case strings.HasPrefix(key, pathPrefix):
		r.found.Versions = append(r.found.Versions, strings.TrimPrefix(key, pathPrefix))
	case strings.HasPrefix(key, versionPrefix):
		r.found.Versions = append(r.found.Versions, strings.TrimPrefix(key, versionPrefix))
	}
	r.stands(belongs, at)
	return true
}

// field reads a field of the spec of the ArgoCD resource.
func (r *Reader) field(name string, v *yamldoc.Value, at finding.Position) {
	switch name {
	case "resourceTrackingMethod":
		r.key(argo.TrackingMethodKey, v, at, settings)
	case "applicationInstanceLabelKey":
		r.key(argo.InstanceLabelKey, v, at, settings)
	case "installationID":
		r.key(argo.InstallationIDKey, v, at, settings)
	case "kustomizeBuildOptions":
		r.key(buildKey, v, at, settings)
	case "resourceExclusions":
		r.key(exclusionsKey, v, at, settings)
	case "resourceInclusions":
		r.key(inclusionsKey, v, at, settings)
	case "resourceCustomizations":
		r.key(customizations, v, at, settings)
	case "resourceHealthChecks":
		for _, item := range v.Elements() {
			of := argo.GroupKind{Group: item.TextAt("group"), Kind: item.TextAt("kind")}
			r.health(of, item.TextAt("check"))
			r.write(healthPrefix+keyOf(of), item.At("check"), item.Position)
		}
	case "sourceNamespaces":
		r.found.Watched = append(r.found.Watched, texts(v)...)
	case "kustomizeVersions":
		for _, item := range v.Elements() {
			r.found.Versions = append(r.found.Versions, item.TextAt("version"))
		}
	case "resourceIgnoreDifferences":
		if all := v.At("all"); all != nil {
			r.ignore(argo.GroupKind{Group: "*", Kind: "*"}, all)
			r.write(ignoredPrefix+"all", yamldoc.Text(ignoring(all), all.Position), all.Position)
		}
		for _, item := range v.At("resourceIdentifiers").Elements() {
			if custom := item.At("customization"); custom != nil {
				of := argo.GroupKind{Group: item.TextAt("group"), Kind: item.TextAt("kind")}
				r.ignore(of, custom)
				r.write(ignoredPrefix+keyOf(of), yamldoc.Text(ignoring(custom), custom.Position), custom.Position)
			}
		}
	}
}

// watch takes a list of namespaces with commas between them.
func (r *Reader) watch(list string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			r.found.Watched = append(r.found.Watched, name)
		}
	}
}

// endsSyncs reads how long a sync runs, in whole seconds: what is out of range is the
// default. Source: argo-cd, util/env, ParseNumFromEnv.
func (r *Reader) endsSyncs(text string, at finding.Position) {
	have := &r.found.SyncTimeout
	seconds, err := strconv.Atoi(text)
	if err != nil {
		have.Unread = true
		return
	}
	after := time.Duration(0)
	if seconds > 0 && seconds <= math.MaxInt32 {
		after = time.Duration(seconds) * time.Second
	}
	longer := have.Position.File == "" || have.After > 0 && (after == 0 || after > have.After)
	if longer || after == have.After && at.Compare(have.Position) < 0 {
		have.After, have.Position = after, at
	}
}

// turn reads a switch as Argo CD reads a variable of its environment. What is on in one
// place is on: other places may be other installations. Source: Go, strconv.ParseBool.
func turn(s *argo.Switch, text string, at finding.Position) {
	on, err := strconv.ParseBool(text)
	on = on && err == nil
	switch {
	case s.On && !on:
		return
	case on == s.On && s.Position.File != "" && s.Position.Compare(at) < 0:
		return
	}
	s.On, s.Position, s.Text = on, at, text
}

// write notes a setting of argocd-cm as it is written.
func (r *Reader) write(key string, v *yamldoc.Value, at finding.Position) {
	if v == nil || v.Kind != yamldoc.Scalar {
		return
	}
	isScript := key == customizations || strings.HasPrefix(key, healthPrefix) // Lua has braces of its own
	r.found.Written = append(r.found.Written, argo.Written{
		Key: key, Text: v.Text, Position: at, Open: appset.IsMarked(v.Text) || !isScript && isOpen(v.Text),
	})
}

// keyOf is the end of the key of a kind, "<group>_<kind>" or "<kind>".
func keyOf(kind argo.GroupKind) string {
	if kind.Group == "" {
		return kind.Kind
	}
	return kind.Group + "_" + kind.Kind
}

// ignoring is what a rule of the ArgoCD resource says, as argocd-cm has it. Source:
// argocd-operator, getResourceIgnoreDifferences.
func ignoring(v *yamldoc.Value) string {
	rule := map[string][]string{}
	for _, list := range []string{"jsonPointers", "jqPathExpressions", "managedFieldsManagers"} {
		if all := texts(v.At(list)); len(all) > 0 {
			rule[list] = all
		}
	}
	text, err := json.Marshal(rule) // JSON is YAML
	if err != nil {
		return ""
	}
	return string(text)
}

// groupKind reads "<group>_<kind>" or "<kind>". Source: Argo CD, "Resource Health".
func groupKind(text string) argo.GroupKind {
	if text == "all" {
		return argo.GroupKind{Group: "*", Kind: "*"}
	}
	group, kind := "", text
	if i := strings.LastIndex(kind, "_"); i >= 0 {
		group, kind = kind[:i], kind[i+1:]
	}
	return argo.GroupKind{Group: group, Kind: kind}
}

func (r *Reader) health(kind argo.GroupKind, script string) {
	if isAlwaysHealthy(script) {
		r.found.Waived = append(r.found.Waived, kind)
		return
	}
	r.found.Health = append(r.found.Health, kind)
}

var (
	luaComment = lazyregexp.New(`--[^\n]*`)
	luaBranch  = lazyregexp.New(`\b(?:if|for|while|repeat|and|or|obj)\b|\[`)
	luaStatus  = lazyregexp.New(`\bstatus\b(\s*=\s*["']Healthy["'])?`)
)

// isAlwaysHealthy reports whether a health script says Healthy of every object, so that no
// sync waits for one: it looks at nothing, and gives no other status.
func isAlwaysHealthy(script string) bool {
	if strings.Contains(script, "--[") {
		return false
	}
	script = luaComment.ReplaceAllString(script, "")
	said := luaStatus.FindAllStringSubmatch(script, -1)
	return len(said) > 0 && !luaBranch.MatchString(script) && !slices.ContainsFunc(said, func(m []string) bool { return m[1] == "" })
}

// ignore takes a rule of what is not compared. Source: Argo CD, "Diff Customization",
// system-level configuration.
func (r *Reader) ignore(kind argo.GroupKind, v *yamldoc.Value) {
	d := model.IgnoreDifference{
		Group: kind.Group, Kind: kind.Kind, JSONPointers: texts(v.At("jsonPointers")),
		JQPathExpressions: texts(v.At("jqPathExpressions")), ManagedFieldsManagers: texts(v.At("managedFieldsManagers")),
	}
	if len(d.JSONPointers)+len(d.JQPathExpressions)+len(d.ManagedFieldsManagers) > 0 {
		r.ignored = append(r.ignored, d)
	}
}

// older reads the key that held all customizations: "group/Kind: {health.lua: ...}".
func (r *Reader) older(v *yamldoc.Value) {
	for _, one := range v.Entries {
		group, kind, ok := strings.Cut(one.Key, "/")
		if !ok {
			group, kind = "", one.Key
		}
		of := argo.GroupKind{Group: group, Kind: kind}
		if one.Value.At("health.lua") != nil {
			r.health(of, one.Value.TextAt("health.lua"))
		}
		if ignored := one.Value.At("ignoreDifferences"); ignored != nil {
			r.ignore(of, parsed(ignored))
		}
	}
}

// Global reads a file that a generator puts into argocd-cm as the key globalProjects.
func (r *Reader) Global(v *yamldoc.Value) { r.globals(v) }

// globals reads the list of projects that others inherit from.
func (r *Reader) globals(v *yamldoc.Value) {
	for _, item := range parsed(v).Elements() {
		if name := item.TextAt("projectName"); name != "" {
			r.found.Global = append(r.found.Global, name)
		}
	}
}

// filters reads exclusions or inclusions.
func filters(v *yamldoc.Value) []argo.Filter {
	var all []argo.Filter
	for _, item := range parsed(v).Elements() {
		if item.Kind == yamldoc.Map {
			all = append(all, argo.Filter{Groups: texts(item.At("apiGroups")), Kinds: texts(item.At("kinds")), Clusters: texts(item.At("clusters"))})
		}
	}
	return all
}

// parsed is YAML in a text; what is written as such stays, and what cannot be read is
// empty.
func parsed(v *yamldoc.Value) *yamldoc.Value {
	if v.Kind != yamldoc.Scalar {
		return v
	}
	p, err := yamldoc.ParseOne(v.Position.File, []byte(v.Text))
	if err != nil {
		return &yamldoc.Value{}
	}
	return p
}

func texts(v *yamldoc.Value) []string {
	var all []string
	for _, item := range v.Elements() {
		if item.Kind == yamldoc.Scalar {
			all = append(all, item.Text)
		}
	}
	return all
}
