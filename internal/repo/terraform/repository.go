package terraform

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Repository is all Terraform of a repository: its files, and files of variables.
type Repository struct {
	Files     []File `json:"files"`
	Variables []File `json:"variables"`
	// Terragrunt are the files of that.
	Terragrunt []File `json:"terragrunt"`
}

// maxSettings is how many values of its variables a folder is read with.
const maxSettings = 20

// repository knows who calls which folder as a module.
type repository struct {
	folders map[string][]*hclsyntax.Body // of those that are Terraform
	dirs    []string                     // of folders, sorted
	runs    map[string][][]File
	calls   map[string][]call
	set     map[string][]map[string]cty.Value // what settings found
	busy    map[string]bool                   // folders whose settings are being found
	broken  map[string]*SyntaxError           // the first one of folders that are not read
}

// call is a block of a folder that has another one as its module.
type call struct {
	dir   string
	block *hclsyntax.Block
}

func newRepository(all Repository) *repository {
	r := &repository{
		folders: map[string][]*hclsyntax.Body{}, runs: map[string][][]File{}, calls: map[string][]call{},
		set: map[string][]map[string]cty.Value{}, busy: map[string]bool{}, broken: map[string]*SyntaxError{},
	}
	for _, f := range all.Files {
		dir := path.Dir(f.Path)
		body, err := parse(f)
		var syntax *SyntaxError
		if errors.As(err, &syntax) {
			r.broken[dir] = cmp.Or(r.broken[dir], syntax)
			continue
		}
		r.folders[dir] = append(r.folders[dir], body)
	}
	for dir := range r.folders {
		if r.broken[dir] == nil {
			r.dirs = append(r.dirs, dir)
		}
	}
	slices.Sort(r.dirs)
	units, _ := Units(all.Terragrunt)
	for _, dir := range r.dirs {
		for _, body := range r.folders[dir] {
			for _, b := range body.Blocks {
				if called := calls(dir, b); called != "" {
					r.calls[called] = append(r.calls[called], call{dir, b})
				}
			}
		}
		r.runs[dir] = Runs(dir, all.Variables, units, func(folder string) bool { return len(r.folders[folder]) > 0 })
	}
	return r
}

// calls is the folder of the repository that a block has as its module; empty for none.
func calls(dir string, b *hclsyntax.Block) string {
	source := b.Body.Attributes["source"]
	if b.Type != "module" || source == nil {
		return ""
	}
	v, problems := source.Expr.Value(nil)
	if text, ok := asText(v); ok && !problems.HasErrors() && strings.HasPrefix(text, ".") {
		return path.Join(dir, text)
	}
	return ""
}

// settings are the values that the variables of a folder have where it is applied, or called.
func (r *repository) settings(dir string) []map[string]cty.Value {
	if all, ok := r.set[dir]; ok {
		return all
	}
	var all []map[string]cty.Value
	if len(r.calls[dir]) == 0 || r.busy[dir] {
		for _, run := range r.runs[dir] {
			all = append(all, valuesOf(run))
		}
		return all[:min(len(all), maxSettings)]
	}
	r.busy[dir] = true
	for _, c := range r.calls[dir] {
		for _, set := range r.settings(c.dir) {
			m, _ := newModule(r.folders[c.dir], set)
			undecided, _ := newModule(r.folders[c.dir], set)
			if undecided.undecided = true; undecided.isNone(c.block) {
				continue
			}
			for _, each := range m.instances(c.block) {
				if m.each = each; len(all) < maxSettings {
					all = append(all, m.given(c.block))
				}
			}
		}
	}
	r.busy[dir] = false
	r.set[dir] = all
	return all
}

// given are the values that a call of a module gives, as far as they are known.
func (m *module) given(b *hclsyntax.Block) map[string]cty.Value {
	all := map[string]cty.Value{}
	for name, a := range b.Body.Attributes {
		if slices.Contains([]string{"source", "version", "providers", "count", "for_each", "depends_on"}, name) {
			continue
		}
		v, ok := m.value(a.Expr)
		if !ok {
			continue
		}
		if v = m.strict(v); v.IsWhollyKnown() {
			all[name] = v
		}
	}
	return all
}

// Runs are the files of variables of each run of a folder: of each unit of Terragrunt, with those that
// Terraform loads by itself; else these, then for each of the others, which are for one environment
// each. isFolder reports whether a folder has Terraform of its own. Source: Terraform, "Variable
// Definition Precedence": the environment, where Terragrunt puts inputs, comes before terraform.tfvars.
func Runs(dir string, variables []File, units []Unit, isFolder func(dir string) bool) [][]File {
	var first, always, chosen []File
	for _, f := range variables {
		rel := f.Path
		if dir != "." {
			var below bool
			if rel, below = strings.CutPrefix(f.Path, dir+"/"); !below {
				continue
			}
		}
		own := rel == path.Base(rel)
		switch {
		case strings.Contains(rel, ".terraform/") || !own && isFolder(path.Dir(f.Path)):
		case rel == "terraform.tfvars":
			first = append(first, f)
		case own && strings.HasSuffix(rel, ".auto.tfvars"):
			always = append(always, f)
		default:
			chosen = append(chosen, f)
		}
	}
	always = append(first, always...)
	var all [][]File
	for _, u := range units {
		if u.Folder == dir {
			all = append(all, append([]File{u.Variables}, always...))
		}
	}
	if len(all) > 0 {
		return all
	}
	if len(chosen) == 0 {
		return [][]File{always}
	}
	for _, one := range chosen {
		all = append(all, append(slices.Clone(always), one))
	}
	return all
}
