package argocd

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Programs: Pulumi, the CDK and scripts write Applications in code, which is not run. What
// such an Application takes is written out as a rule, but for the name of an environment.

// The most programs that are read, the most that they take, the longest, in bytes, and how much of one behind the
// version of an Application belongs to it.
const (
	mostPrograms   = 5000
	mostPatterns   = 100
	longestProgram = 512 << 10
	ofOneObject    = 2 << 10
)

// versionInCode begins an Application in a program, as a rule.
const versionInCode = "argoproj.io/v1alpha1"

var (
	kindInCode     = lazyregexp.New(`\bkind["']?\s*[:=]\s*["']?Application\b["']?`)
	pathInCode     = lazyregexp.New("(?i)\\bpath[\"']?\\s*[:=]\\s*[\"'`]([^\"'`\\s]+)[\"'`]")
	variableInCode = lazyregexp.New(`\$?\{[^{}]*\}|\$\w+|%[sv]`)
)

// programmed are the folders that Applications in programs take, as patterns, with where
// they are written.
type programmed struct {
	pattern string
	at      finding.Position
}

// inPrograms finds what Applications in the programs of the repository take.
func (r *Repository) inPrograms(ctx context.Context) []programmed {
	var all []programmed
	read := 0
	for _, file := range r.all {
		if !isProgram(file) || repofs.IsFixture(file) || repofs.IsUnused(file) || strings.Contains("/"+file, "/node_modules/") || strings.Contains("/"+file, "/vendor/") {
			continue
		}
		if read++; read > mostPrograms || len(all) >= mostPatterns || ctx.Err() != nil {
			break
		}
		data, err := r.tree.Read(file)
		if err != nil || len(data) > longestProgram {
			continue
		}
		text := string(data)
		for begin := strings.Index(text, versionInCode); begin >= 0; {
			block := text[begin:min(len(text), begin+ofOneObject)]
			next := strings.Index(text[begin+1:], versionInCode)
			if next >= 0 {
				block = block[:min(len(block), next+1)]
			}
			if m := pathInCode.FindStringSubmatch(block); m != nil && kindInCode.MatchString(block) {
				pattern := strings.Trim(path.Clean(variableInCode.ReplaceAllString(m[1], "*")), "/")
				if isTelling(pattern) {
					all = append(all, programmed{pattern, finding.Position{File: file, Line: 1 + strings.Count(text[:begin], "\n")}})
				}
			}
			if next < 0 || len(all) >= mostPatterns {
				break
			}
			begin += 1 + next
		}
	}
	return all
}

// isProgram reports whether a file is source code that may be run against a cluster.
func isProgram(file string) bool {
	return slices.Contains([]string{".ts", ".js", ".mjs", ".py", ".go", ".cs", ".java", ".kt", ".rb", ".sh", ".bash"}, path.Ext(file))
}

// isTelling reports whether a pattern says more of a folder than a variable does.
func isTelling(pattern string) bool {
	return slices.ContainsFunc(strings.Split(pattern, "/"), func(part string) bool { return len(part) > 2 && !strings.Contains(part, "*") })
}

// applyInPrograms makes environments of the Applications in folders that an Application of a
// program takes, and returns the others.
func (r *Repository) applyInPrograms(ctx context.Context, single []document) (all []Environment, others []document) {
	if len(single) == 0 {
		return nil, single
	}
	programs := r.inPrograms(ctx)
	taken := map[string]programmed{}
	for _, d := range single {
		dir := path.Dir(d.position().File)
		for _, p := range programs {
			if ok, err := path.Match(p.pattern, dir); ok && err == nil {
				taken[dir] = p
				break
			}
		}
	}
	var applied []document
	for _, d := range single {
		if _, ok := taken[path.Dir(d.position().File)]; ok {
			applied = append(applied, d)
		} else {
			others = append(others, d)
		}
	}
	if len(applied) == 0 {
		return nil, single
	}
	all = r.groupSingle(applied, 0)
	for i := range all {
		dir := path.Dir(all[i].roots[0].file())
		if all[i].Name == strings.ReplaceAll(dir, "/", "-") {
			all[i].Name = path.Base(dir)
		}
		p := taken[dir]
		all[i].Program = p.at
		all[i].idle = append(all[i].idle, newFinding(RuleAssumed, finding.Info, p.at, "", "the Applications of %s are taken to be applied by an Application in %s", dir, p.at.File))
	}
	return all, others
}
