package byhand

import (
	"context"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

var (
	// segment parts the commands of a line.
	segment = lazyregexp.New(`[|;&]+|\$\(|[()]`)
	// start is the folder of the repository or of the script, of a variable.
	start = lazyregexp.New(`^\$(?:\w+|\{\w+\})/`)
	// builds is a command that prints what a kustomization makes: the folder is the first
	// of its arguments that is no flag.
	builds = lazyregexp.New(`\b(?:kustomize\s+build|(?:kubectl|oc)\s+kustomize)\s+(\S+)`)
	// hands is a command that applies what another one prints.
	hands = lazyregexp.New(`\s-f\s*-(?:\s|$)`)
)

// argument is a file or folder that a command is given.
type argument struct {
	written              string
	kustomize, recursive bool
}

// given are the files and folders that the commands of a line apply. Source: kubectl
// apply --help; its lists may be written with commas.
func given(line string) []argument {
	var all []argument
	built := ""
	for _, part := range segment.Split(line, -1) {
		if m := builds.FindStringSubmatch(part); m != nil {
			built = m[1]
		}
		if !applies.MatchString(part+" ") || strings.Contains(part, "--dry-run") {
			continue
		}
		if hands.MatchString(part) && built != "" {
			all = append(all, argument{written: built, kustomize: true})
		}
		recursive := false
		first := len(all)
		words := strings.Fields(strings.NewReplacer(`"`, "", `'`, "", "`", "", "=", " = ").Replace(part))
		for i := 0; i < len(words); i++ {
			name := words[i]
			switch name {
			case "-R", "--recursive":
				recursive = true
				continue
			case "-f", "-Rf", "--filename", "-k", "--kustomize":
			default:
				continue
			}
			recursive = recursive || name == "-Rf"
			if i++; i < len(words) && words[i] == "=" {
				i++
			}
			if i < len(words) {
				for written := range strings.SplitSeq(words[i], ",") {
					all = append(all, argument{written: written, kustomize: name == "-k" || name == "--kustomize"})
				}
			}
		}
		for i := range all[first:] {
			all[first+i].recursive = recursive
		}
	}
	return all
}

const (
	// maxApplied bounds the files that the commands of a repository apply: each may name
	// all of them again.
	maxApplied = 20_000
	// maxSteps bounds the files and folders that are looked at for it, of which there may
	// be nothing to apply.
	maxSteps = 200_000
)

// applying finds the files that commands apply.
type applying struct {
	ctx  context.Context
	tree *repofs.Tree
	// known are the files behind arguments that were met before.
	known map[argument][]string
	// listed are the kustomizations by their folders: what they name.
	listed       map[string][]string
	count, steps int
}

// files are the files of the repository that the commands of a file apply, in their
// order: files, those of folders, and what kustomizations are made of. One whose name a
// variable makes is not known.
func (x *applying) files(file string, content []byte) []Instruction {
	var all []Instruction
	for _, c := range commands(content) {
		for _, a := range given(c.text) {
			a.written = start.ReplaceAllString(a.written, "")
			if strings.ContainsAny(a.written, "$*{<") || path.IsAbs(a.written) || a.written == "" || strings.Contains(a.written, "://") {
				continue
			}
			for _, p := range []string{path.Clean(a.written), path.Join(path.Dir(file), a.written)} {
				if p == ".." || strings.HasPrefix(p, "../") || !x.tree.IsFile(p) && !x.tree.IsDir(p) {
					continue
				}
				for _, one := range x.behind(argument{p, a.kustomize, a.recursive}) {
					if x.count++; x.count > maxApplied {
						return all
					}
					all = append(all, Instruction{Address: one, Through: p, Position: finding.Position{File: file, Line: c.line}})
				}
				break
			}
		}
	}
	return all
}

// behind are the files behind an argument. Of a folder kubectl takes the files of
// manifests in it, and those below only where it is told to.
func (x *applying) behind(a argument) []string {
	if known, ok := x.known[a]; ok {
		return known
	}
	var all []string
	switch p := a.written; {
	case a.kustomize:
		x.kustomized(p, map[string]bool{}, &all)
	case x.tree.IsFile(p):
		all = []string{p}
	default:
		all = x.manifests(a)
	}
	x.known[a] = all
	return all
}

func isManifest(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// manifests are those in a folder, and below it where all are asked for.
func (x *applying) manifests(a argument) []string {
	if x.steps >= maxSteps {
		return nil
	}
	if a.recursive {
		found, _ := x.tree.Find(x.ctx, a.written, func(name string) bool { x.steps++; return isManifest(name) })
		return found
	}
	names, _ := x.tree.List(a.written)
	x.steps += len(names)
	var all []string
	for _, name := range names {
		if p := path.Join(a.written, name); isManifest(name) && x.tree.IsFile(p) {
			all = append(all, p)
		}
	}
	return all
}

// kustomized adds the files that a kustomization and those below it are made of.
func (x *applying) kustomized(p string, seen map[string]bool, all *[]string) {
	if x.steps++; seen[p] || x.steps > maxSteps {
		return
	}
	seen[p] = true
	if x.tree.IsFile(p) {
		*all = append(*all, p)
		return
	}
	for _, next := range x.names(p) {
		x.kustomized(next, seen, all)
	}
}

// names are the files and folders of this repository that the kustomization of a folder
// names.
func (x *applying) names(dir string) []string {
	if all, ok := x.listed[dir]; ok {
		return all
	}
	var all []string
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		file := path.Join(dir, name)
		data, err := x.tree.Read(file)
		if err != nil {
			continue
		}
		if v, err := yamldoc.ParseOne(file, data); err == nil {
			for _, key := range []string{"resources", "bases", "components"} {
				for _, item := range v.At(key).Elements() {
					if next := path.Join(dir, item.Text); item.Text != "" && !strings.Contains(item.Text, "://") && !strings.HasPrefix(next, "../") {
						all = append(all, next)
					}
				}
			}
		}
		break
	}
	x.listed[dir] = all
	return all
}

// appliedReleases are the charts that the HelmReleases of a file have Flux install. They
// count only where the file holds their HelmRepository too.
func appliedReleases(tree *repofs.Tree, one Instruction) []Release {
	data, err := tree.Read(one.Address)
	if err != nil {
		return nil
	}
	documents, err := yamldoc.Parse(one.Address, data)
	if err != nil {
		return nil
	}
	repositories := map[string]string{}
	for _, d := range documents {
		if d.TextAt("kind") == "HelmRepository" {
			repositories[d.TextAt("metadata", "name")] = d.TextAt("spec", "url")
		}
	}
	var all []Release
	for _, d := range documents {
		chart := d.At("spec", "chart", "spec")
		if d.TextAt("kind") != "HelmRelease" || chart == nil {
			continue
		}
		if url := repositories[chart.TextAt("sourceRef", "name")]; url != "" {
			all = append(all, Release{
				Repository: url, Chart: chart.TextAt("chart"), Version: chart.TextAt("version"),
				Partial: d.At("spec", "values") != nil || d.At("spec", "valuesFrom") != nil, Position: one.Position,
			})
		}
	}
	return all
}
