package byhand

import (
	"path"
	"regexp"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

var (
	// named is a file that a command is given. One whose name a variable makes is not
	// known.
	named = regexp.MustCompile(`\s(?:-f|--filename)[\s=]+([^\s;|&<>()]+\.ya?ml)\b`)
	// start is the folder of the repository or of the script, of a variable.
	start = regexp.MustCompile(`^\$(?:\w+|\{\w+\})/`)
)

// appliedFiles are the files of the repository that the commands of a script apply.
// What a document shows may be an example.
func appliedFiles(tree *repofs.Tree, file string, content []byte) []Instruction {
	var all []Instruction
	if !isScript(path.Base(file)) {
		return nil
	}
	for _, c := range commands(content) {
		if !applies.MatchString(c.text + " ") {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(c.text, -1) {
			written := start.ReplaceAllString(strings.NewReplacer(`"`, "", `'`, "").Replace(m[1]), "")
			if strings.ContainsAny(written, "$*{") || path.IsAbs(written) {
				continue
			}
			for _, p := range []string{path.Clean(written), path.Join(path.Dir(file), written)} {
				if !strings.HasPrefix(p, "../") && tree.IsFile(p) {
					all = append(all, Instruction{Address: p, Position: finding.Position{File: file, Line: c.line}})
					break
				}
			}
		}
	}
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
