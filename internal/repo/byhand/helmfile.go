package byhand

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Helmfile is a command that gives a state file, or a folder of them, to Helmfile.
type Helmfile struct {
	Path string
	// Environment is the one that the command names; empty for the default one.
	Environment string
	// Position is that of the line on which the command begins.
	Position finding.Position
}

// mostHelmfiles is how many commands of Helmfile are read.
const mostHelmfiles = 100

var runsHelmfile = lazyregexp.New(`(?:^|[\s;&|($])helmfile\s+([^|;&]*)`)

// withHelmfileValue are the flags of Helmfile that stand apart from their values. Source: helmfile
// --help.
var withHelmfileValue = []string{
	"-b", "-c", "-e", "-f", "-l", "-n", "--chart", "--environment", "--file", "--helm-binary", "--kube-context", "--kubeconfig", "--log-level",
	"--namespace", "--selector", "--state-values-file", "--state-values-set", "--state-values-set-string",
}

// stateFiles finds the state files that commands name.
type stateFiles struct {
	tree *repofs.Tree
	// byName are all files of YAML by their base name.
	byName func() map[string][]string
	// compared counts the files that were compared with the path of a command; cut are the files whose
	// commands were not followed, since there were too many.
	compared int
	cut      []string
}

func newStateFiles(ctx context.Context, tree *repofs.Tree) *stateFiles {
	return &stateFiles{tree: tree, byName: sync.OnceValue(func() map[string][]string {
		byName := map[string][]string{}
		found, _ := tree.Find(ctx, ".", func(name string) bool { return strings.HasSuffix(strings.TrimSuffix(name, ".gotmpl"), ".yaml") })
		for _, file := range found {
			byName[path.Base(file)] = append(byName[path.Base(file)], file)
		}
		return byName
	})}
}

// read are the commands of one file that install what state files say, or print it for a command
// that applies. One that selects some of the releases says nothing of the others. Scripts run in a
// folder that they do not always name: a file that is the only one of its path is the one.
func (s *stateFiles) read(t text) []Helmfile {
	handsOver := sync.OnceValue(func() bool { return applies.Match(t.content) })
	var all []Helmfile
	for _, c := range t.commands {
		m := runsHelmfile.FindStringSubmatch(c.text)
		if m == nil || talks(c.text) || len(all) >= mostHelmfiles {
			continue
		}
		verb, flags := helmfileArguments(m[1])
		installs := verb == "apply" || verb == "sync" || verb == "template" && handsOver()
		if !installs || flags["-l"] != "" || flags["-f"] == "" {
			continue
		}
		there := func(p string) bool { return s.tree.IsFile(p) || s.tree.IsDir(p) }
		found := find(flags["-f"], there, path.Dir(t.file), ".")
		if found == "" {
			s.compared += len(s.byName()[path.Base(flags["-f"])])
			if s.compared > maxCompared {
				s.cut = append(s.cut, t.file)
				return all
			}
			found = s.onlyOne(start.ReplaceAllString(flags["-f"], ""))
		}
		if found != "" {
			all = append(all, Helmfile{found, flags["-e"], t.at(c)})
		}
	}
	return all
}

// helmfileArguments reads what stands behind "helmfile": the command, and some of the flags by
// their short names.
func helmfileArguments(text string) (verb string, flags map[string]string) {
	flags = map[string]string{}
	if end := strings.Index(text, " #"); end >= 0 {
		text = text[:end]
	}
	long := map[string]string{"--file": "-f", "--environment": "-e", "--selector": "-l"}
	all := words(text)
	for i := 0; i < len(all); i++ {
		flag, value, whole := strings.Cut(all[i], "=")
		if !strings.HasPrefix(flag, "-") {
			if verb == "" {
				verb = all[i]
			}
			continue
		}
		if !whole && slices.Contains(withHelmfileValue, flag) && i+1 < len(all) {
			i++
			value = all[i]
		}
		if short, ok := long[flag]; ok {
			flag = short
		}
		flags[flag] = strings.Trim(value, `"'`)
	}
	return verb, flags
}

// quoted is a word of a command, quoted or not.
var quoted = lazyregexp.New(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)

// words cuts a command into words; what is quoted is one.
func words(text string) []string {
	all := quoted.FindAllString(text, -1)
	for i := range all {
		all[i] = strings.Trim(all[i], `"'`)
	}
	return all
}

// onlyOne is the one file of a repository whose path ends so; empty where none does, or several.
func (s *stateFiles) onlyOne(end string) string {
	end = "/" + strings.TrimPrefix(path.Clean(end), "./")
	if strings.ContainsAny(end, "$*{<") || strings.Contains(end, "..") {
		return ""
	}
	only := ""
	for _, one := range s.byName()[path.Base(end)] {
		switch {
		case !strings.HasSuffix("/"+one, end):
		case only != "":
			return ""
		default:
			only = one
		}
	}
	return only
}
