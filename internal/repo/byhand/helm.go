package byhand

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Release is one chart that a command of Helm installs.
type Release struct {
	// Repository and Chart name a chart in a repository of charts. Of a folder of this
	// repository there is one release for each chart that it depends on.
	Repository, Chart, Version string
	// Name is that of the release, Namespace the one that the command names.
	Name, Namespace string
	// ValueFiles are files of the repository, Values are written in place, Set are the values
	// that the command sets by name; Partial says that there are others.
	ValueFiles []string
	Values     map[string]any
	Set        map[string]string
	Partial    bool
	// SkipCRDs leaves out the CRDs that lie in the folder of the chart for them.
	SkipCRDs bool
	Position finding.Position
}

var (
	installs  = lazyregexp.New(`\bhelm\b[^|;&]*\s(install|upgrade)\s`)
	wrapped   = lazyregexp.New(`^\s*(?:helm_(?:apply|install|upgrade|deploy)\w*|(?:apply|install|upgrade|deploy)_helm\w*)\s`)
	mesh      = lazyregexp.New(`\bistioctl\s(?:[^|;&]*\s)?(?:install|upgrade|manifest\s+apply)(?:\s|$)`)
	templates = lazyregexp.New(`\bhelm\s+template\s`)
	added     = lazyregexp.New(`\bhelm\s+repo\s+add\s+([\w.-]+)\s+(https?://[^\s"'` + "`" + `<>|;()\\]+)`)
	// ends is where a command ends within its line.
	ends = lazyregexp.New("[`|;&<>]|\\s#")
)

// withValue are the flags of Helm that stand apart from their values. Source: helm
// upgrade --help; of others, only the form with "=" is understood.
var withValue = []string{
	"-f", "-n", "--description", "--history-max", "--kube-context", "--kubeconfig", "--namespace", "--password", "--post-renderer", "--repo",
	"--set", "--set-file", "--set-json", "--set-literal", "--set-string", "--timeout", "--username", "--values", "--version",
}

// releases reads the charts that the commands of one file install, with the repositories
// that commands add under a name.
func releases(tree *repofs.Tree, t text, repositories map[string]string) []Release {
	var all []Release
	for _, c := range t.commands {
		at := t.at(c)
		if found := installs.FindStringIndex(c.text + " "); found != nil {
			all = append(all, charts(tree, c.text[min(found[1], len(c.text)):], at, repositories)...)
		} else if found := wrapped.FindStringIndex(c.text); found != nil {
			all = append(all, charts(tree, withChart(c.text[found[1]:], repositories), at, repositories)...)
		} else if mesh.MatchString(c.text) {
			all = append(all, meshCharts(at)...)
		} else if handsOver(c.text) {
			all = append(all, templated(tree, c.text, at, repositories)...)
		}
	}
	return all
}

// chartFolders are the charts of the repository that the commands of one file install.
func chartFolders(tree *repofs.Tree, t text) []Instruction {
	var all []Instruction
	for _, c := range t.commands {
		found := installs.FindStringIndex(c.text + " ")
		if found == nil {
			continue
		}
		_, chart, _ := arguments(c.text[min(found[1], len(c.text)):])
		if dir := find(chart, func(p string) bool { return tree.IsFile(path.Join(p, "Chart.yaml")) }, path.Dir(t.file), "."); dir != "" {
			all = append(all, Instruction{Address: dir, Through: dir, Position: t.at(c)})
		}
	}
	return all
}

// meshNamespace is the namespace that istioctl creates, unless its options name another one, and
// meshRepository has the charts that it installs in every profile but the empty one. Source: istioctl
// install --help; istio, manifests/profiles.
const (
	meshNamespace  = "istio-system"
	meshRepository = "https://istio-release.storage.googleapis.com/charts"
)

// meshCharts are the charts that istioctl installs; its options may change their values.
func meshCharts(at finding.Position) []Release {
	var all []Release
	for _, chart := range []string{"base", "istiod"} {
		all = append(all, Release{Repository: meshRepository, Chart: chart, Name: chart, Namespace: meshNamespace, Set: map[string]string{}, Partial: true, Position: at})
	}
	return all
}

// withChart are the arguments of a function of a script's own that installs a chart, without the
// words between the chart and the flags; empty where none is a chart of a known repository.
func withChart(text string, repositories map[string]string) string {
	words := strings.Fields(text)
	i := slices.IndexFunc(words, func(word string) bool {
		alias, _, ok := strings.Cut(word, "/")
		return ok && (repositories[alias] != "" || strings.HasPrefix(word, "oci://"))
	})
	if i < 0 {
		return ""
	}
	flags := slices.IndexFunc(words[i:], func(word string) bool { return strings.HasPrefix(word, "-") })
	if flags < 0 {
		return strings.Join(words[:i+1], " ")
	}
	return strings.Join(slices.Concat(words[:i+1], words[i+flags:]), " ")
}

// templated are the charts that a command prints. It leaves out CRDs of the chart's own
// folder unless it is told otherwise. Source: helm template --help.
func templated(tree *repofs.Tree, line string, at finding.Position, repositories map[string]string) []Release {
	found := templates.FindStringIndex(line)
	if found == nil {
		return nil
	}
	all := charts(tree, line[found[1]:], at, repositories)
	for i := range all {
		all[i].SkipCRDs = !strings.Contains(line, "--include-crds")
	}
	return all
}

// handsOver reports whether a line has a command that applies what another one prints.
func handsOver(line string) bool {
	return slices.ContainsFunc(parts(line), func(part string) bool {
		return applies.MatchString(part+" ") && hands.MatchString(part) && !strings.Contains(part, "--dry-run")
	})
}

// charts are those of a command of Helm, by what stands behind the word install, upgrade
// or template.
func charts(tree *repofs.Tree, text string, at finding.Position, repositories map[string]string) []Release {
	r, chart, files := arguments(text)
	for _, written := range files {
		r.readsFile(find(written, tree.IsFile, path.Dir(at.File), "."), tree)
	}
	r.Position = at
	alias, name, _ := strings.Cut(chart, "/")
	switch {
	case chart == "" || strings.ContainsAny(chart, "${}"):
		return nil
	case strings.HasPrefix(chart, "oci://"):
		r.Repository, r.Chart = path.Split(strings.TrimPrefix(chart, "oci://"))
		r.Repository = "oci://" + strings.TrimSuffix(r.Repository, "/")
	case r.Repository != "":
		r.Chart = chart
	case repositories[alias] != "" && name != "":
		r.Repository, r.Chart = repositories[alias], name
	case !strings.Contains(chart, "://"):
		return dependencies(tree, at.File, chart, r)
	default:
		return nil
	}
	return []Release{r}
}

// arguments reads what stands behind "helm install": the release, its chart, and the files
// of values as they are written.
func arguments(text string) (r Release, chart string, files []string) {
	if end := ends.FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	r.Set = map[string]string{}
	var plain []string
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		if isArray(words[i]) {
			r.Partial = true // it may hold any flags
			continue
		}
		flag, value, whole := strings.Cut(strings.Trim(words[i], `"'`), "=")
		if !strings.HasPrefix(flag, "-") {
			plain = append(plain, strings.Trim(words[i], `"'`))
			continue
		}
		if !whole && slices.Contains(withValue, flag) && i+1 < len(words) {
			i++
			value = words[i]
		}
		value = strings.Trim(value, `"'`)
		switch flag {
		case "--repo":
			r.Repository = value
		case "--version":
			r.Version = value
		case "-n", "--namespace":
			r.Namespace = value
		case "--set", "--set-string":
			for pair := range strings.SplitSeq(value, ",") {
				if name, v, ok := strings.Cut(pair, "="); ok {
					r.Set[name] = v
				}
			}
		case "-f", "--values":
			files = append(files, strings.Split(value, ",")...)
		case "--set-json", "--set-file", "--set-literal", "--reuse-values", "--reset-then-reuse-values":
			r.Partial = true
		case "--skip-crds":
			r.SkipCRDs = value != "false"
		}
	}
	if len(plain) > 1 {
		r.Name = plain[0]
	}
	if len(plain) == 0 {
		return r, "", files
	}
	return r, plain[len(plain)-1], files
}

// isArray reports whether a word stands for all words of an array of the shell.
func isArray(word string) bool {
	word = strings.Trim(word, `"'`)
	return strings.HasPrefix(word, "${") && (strings.HasSuffix(word, "[@]}") || strings.HasSuffix(word, "[*]}")) || word == "$@" || word == "$*"
}

// dependencies are the charts that a chart in a folder of this repository depends on.
func dependencies(tree *repofs.Tree, file, folder string, r Release) []Release {
	for _, dir := range []string{path.Clean(folder), path.Join(path.Dir(file), folder)} {
		at := path.Join(dir, "Chart.yaml")
		if !tree.IsFile(at) {
			continue
		}
		data, err := tree.Read(at)
		if err != nil {
			return nil
		}
		documents, err := yamldoc.Parse(at, data)
		if err != nil || len(documents) == 0 {
			return nil
		}
		var all []Release
		if list := documents[0].At("dependencies"); list != nil {
			for _, item := range list.Items {
				of := r
				of.Repository, of.Chart, of.Version = item.TextAt("repository"), item.TextAt("name"), item.TextAt("version")
				of.ValueFiles, of.Values, of.Set, of.Partial = nil, nil, nil, true
				all = append(all, of)
			}
		}
		return all
	}
	return nil
}
