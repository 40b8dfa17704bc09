package byhand

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

var (
	// runsHelmfile is a command of Helmfile that installs, or prints what it would install.
	runsHelmfile = lazyregexp.New(`\bhelmfile\b[^|;&]*\s(apply|sync|template)\b`)
	stateFile    = lazyregexp.New(`\bhelmfile\b[^|;&]*\s(?:-f|--file)[\s=]+(?:"([^"]+)"|'([^']+)'|([^\s"'|;&]+))`)
)

// helmfiles are the state files that the commands of one file give to Helmfile to install what
// they say, or to print it for a command that applies. Scripts run in a folder that they do not
// always name: a file that is the only one of its path is the one.
func helmfiles(ctx context.Context, tree *repofs.Tree, file string, content []byte) []Instruction {
	var all []Instruction
	for _, c := range commands(file, content) {
		run, named := runsHelmfile.FindStringSubmatch(c.text), stateFile.FindStringSubmatch(c.text)
		if run == nil || named == nil || run[1] == "template" && !applies.Match(append(content, ' ')) {
			continue
		}
		written := cmp.Or(named[1], named[2], named[3])
		there := func(p string) bool { return tree.IsFile(p) || tree.IsDir(p) }
		found := cmp.Or(find(written, there, path.Dir(file), "."), onlyOne(ctx, tree, start.ReplaceAllString(written, "")))
		if found != "" {
			all = append(all, Instruction{Address: found, Position: finding.Position{File: file, Line: c.line}})
		}
	}
	return all
}

// onlyOne is the one file of a repository whose path ends so; empty where none does, or several.
func onlyOne(ctx context.Context, tree *repofs.Tree, end string) string {
	end = "/" + strings.TrimPrefix(path.Clean(end), "./")
	if strings.ContainsAny(end, "$*{<") || strings.Contains(end, "..") || !strings.HasSuffix(strings.TrimSuffix(end, ".gotmpl"), ".yaml") {
		return ""
	}
	found, _ := tree.Find(ctx, ".", func(name string) bool { return strings.HasSuffix(name, path.Base(end)) })
	only := ""
	for _, one := range found {
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
