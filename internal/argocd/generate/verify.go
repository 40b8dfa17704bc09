package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// differs expands an ApplicationSet as its controller would and says how the
// result differs from the Applications that the components ask for; empty where
// it does not.
func (b *builder) differs(set ApplicationSet, stages []stage) (string, error) {
	text, err := yaml.Marshal(set)
	if err != nil {
		return "", fmt.Errorf("write the ApplicationSet %s: %w", set.Metadata.Name, err)
	}
	value, err := yamldoc.ParseOne(setFile, text)
	if err != nil {
		return "", fmt.Errorf("read the ApplicationSet %s back: %w", set.Metadata.Name, err)
	}
	view, err := b.view()
	if err != nil {
		return "", err
	}
	result, err := evaluate.Applications(b.ctx, value, view, appset.Data{})
	if err != nil {
		return "", fmt.Errorf("expand the ApplicationSet %s: %w", set.Metadata.Name, err)
	}
	if len(result.Unread) > 0 {
		return result.Unread[0].Message, nil
	}
	wanted := map[string]bool{}
	for _, s := range stages {
		for _, name := range s.components {
			wanted[name] = true
		}
	}
	for _, app := range result.Applications {
		name := app.Value.TextAt("metadata", "name")
		if !wanted[name] {
			return fmt.Sprintf("%s would generate %q, which is none of its components", app.Element.File, name), nil
		}
		delete(wanted, name)
		if difference := compare(b.apps[name], app.Value); difference != "" {
			return name + ": " + difference + remedy(b.components[name], difference), nil
		}
	}
	if len(wanted) > 0 {
		return b.unselected(slices.Sorted(maps.Keys(wanted))[0], stages), nil
	}
	return "", nil
}

// remedy says how a descriptor is written so that a template reads what it differs in; empty
// where that is not known.
func remedy(c *model.Component, difference string) string {
	switch file := c.Position.File; {
	case strings.HasPrefix(difference, "metadata.annotations."+annotationRequires+" "):
		for _, r := range c.Requires {
			if older, _, ok := strings.Cut(r.Field, "["); ok {
				return fmt.Sprintf("; write requires instead of %s in %s", older, file)
			}
		}
		return "; write requires as a list of names in " + file
	case strings.HasPrefix(difference, "spec.syncPolicy.syncOptions[") && len(c.SyncOptions) > 0:
		return fmt.Sprintf("; write syncOptions: [%s] in %s", strings.Join(c.SyncOptions, ", "), file)
	default:
		return ""
	}
}

// unselected says why the git generator of some stages leaves a component out: its descriptor
// may say another domain than the tier, which is the band of its phase.
func (b *builder) unselected(name string, stages []stage) string {
	reason := name + " would not be generated"
	if c := b.components[name]; b.layout == plan.Tiers && !b.tierInFolder(stages) && c.Domain != stages[0].set {
		reason += fmt.Sprintf(": its descriptor says %s, and its phase %s is of the band %s; name the bands in ladder.yaml as the descriptors do, or correct the phase", c.Domain, c.Phase, stages[0].set)
	}
	return reason
}

// compare says how a generated Application differs from the one that is wanted.
func compare(want Application, got *yamldoc.Value) string {
	text, err := json.Marshal(want)
	if err != nil {
		return err.Error()
	}
	var a any
	if err := json.Unmarshal(text, &a); err != nil {
		return err.Error()
	}
	return difference("", a, got.Any())
}

// difference finds the first field that is not the same in both. Durations are
// the same however they are written, and so are a number and its text.
func difference(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		keys := slices.Sorted(maps.Keys(w))
		for key := range g {
			if _, ok := w[key]; !ok {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			if d := difference(strings.TrimPrefix(at+"."+key, "."), w[key], g[key]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		for i := range max(len(w), len(g)) {
			var x, y any
			if i < len(w) {
				x = w[i]
			}
			if i < len(g) {
				y = g[i]
			}
			if d := difference(at+"["+strconv.Itoa(i)+"]", x, y); d != "" {
				return d
			}
		}
		return ""
	default:
		if same(want, got) {
			return ""
		}
		return fmt.Sprintf("%s would be %s, not %s", at, shown(got), shown(want))
	}
}

func same(want, got any) bool {
	if want == nil || got == nil {
		return isNothing(want) && isNothing(got)
	}
	x, y := scalar(want), scalar(got)
	if x == y {
		return true
	}
	dx, okx := yamldoc.ParseDuration(x)
	dy, oky := yamldoc.ParseDuration(y)
	return okx && oky && dx == dy
}

// isNothing reports whether a value says the same as one that is not there.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	default:
		return false
	}
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func shown(v any) string {
	if isNothing(v) {
		return "nothing"
	}
	return strconv.Quote(scalar(v))
}

// view is the repository as the git generator sees it: its descriptors.
type view struct {
	repoURL string
	files   []string
	// read are the files of the platform by these.
	read map[string]string
	tree *repofs.Tree
}

func (b *builder) view() (*view, error) {
	v := &view{repoURL: b.repoURL, read: map[string]string{}, tree: b.platform.Tree()}
	found, err := v.tree.Find(b.ctx, b.descriptors(), func(name string) bool { return name == descriptor.FileName })
	if err != nil {
		return nil, fmt.Errorf("find the descriptors: %w", err)
	}
	for _, file := range found {
		in := b.inRepository(file)
		v.files, v.read[in] = append(v.files, in), file
	}
	slices.Sort(v.files)
	return v, nil
}

// Own implements appset.Repository.
func (v *view) Own(repoURL string) bool { return repoURL == v.repoURL }

// Files implements appset.Repository.
func (v *view) Files() []string { return v.files }

// Read implements appset.Repository.
func (v *view) Read(file string) ([]byte, error) { return v.tree.Read(v.read[file]) }
